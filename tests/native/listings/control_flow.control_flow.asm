// tests/kernels/bin/apl/control_flow.bin, section .text.control_flow, as `iga64 -p=9 -d` prints it.
L0:
(W) mov (8|M0) r2.0<1>:ud r0.0<1;1,0>:ud
(W) or (1|M0) cr0.0<1>:ud cr0.0<0;1,0>:ud 0x4C0:uw {Switch}
(W) mul (1|M0) r3.0<1>:d r6.0<0;1,0>:d r2.1<0;1,0>:d {Compacted}
(W) cmp (16|M0) (gt)f0.1 null<1>:d r5.4<0;1,0>:d 0:w
add (16|M0) r7.0<1>:d r3.0<0;1,0>:d r1.0<16;16,1>:uw
add (16|M0) r9.0<1>:d r7.0<8;8,1>:d r4.0<0;1,0>:d {Compacted}
(W&f0.1) jmpi L128
L96:
mov (16|M0) r11.0<1>:d 0:w
(W) jmpi L848
L128:
(W) mul (8|M0) acc0.0<1>:d r9.0<8;8,1>:d 0x6667:uw
and (16|M0) r21.0<1>:d r9.0<8;8,1>:d 3:w
mov (16|M0) r23.0<1>:d 0:w
mov (16|M0) r11.0<1>:d 0:w
mach (8|M0) r13.0<1>:d r9.0<8;8,1>:d 1717986919:d {AccWrEn}
(W) mul (8|M0) acc0.0<1>:d r10.0<8;8,1>:d 0x6667:uw
mach (8|M8) r14.0<1>:d r10.0<8;8,1>:d 1717986919:d {AccWrEn}
asr (16|M0) r15.0<1>:d r13.0<8;8,1>:d 1:w
cmp (16|M0) (lt)f0.0 null<1>:d r13.0<8;8,1>:d 0:w
(f0.0) add (16|M0) r15.0<1>:d r15.0<8;8,1>:d 1:w
mul (16|M0) r17.0<1>:d r15.0<8;8,1>:d -5:w
add (16|M0) r19.0<1>:d r17.0<8;8,1>:d r9.0<8;8,1>:d {Compacted}
L312:
shl (16|M0) r25.0<1>:d r23.0<8;8,1>:d 2:w
send (16|M0) r27:w r25 0xC 0x04205E00
(W) mul (8|M0) acc0.0<1>:d r27.0<8;8,1>:d 0x6667:uw
mach (8|M0) r29.0<1>:d r27.0<8;8,1>:d 1717986919:d {AccWrEn}
(W) mul (8|M0) acc0.0<1>:d r28.0<8;8,1>:d 0x6667:uw
mach (8|M8) r30.0<1>:d r28.0<8;8,1>:d 1717986919:d {AccWrEn}
asr (16|M0) r31.0<1>:d r29.0<8;8,1>:d 1:w
cmp (16|M0) (lt)f0.1 null<1>:d r29.0<8;8,1>:d 0:w
(f0.1) add (16|M0) r31.0<1>:d r31.0<8;8,1>:d 1:w
mul (16|M0) r33.0<1>:d r31.0<8;8,1>:d -5:w
add (16|M0) r33.0<1>:d r33.0<8;8,1>:d r27.0<8;8,1>:d {Compacted}
cmp (16|M0) (eq)f0.0 null<1>:d r33.0<8;8,1>:d r19.0<8;8,1>:d {Compacted}
(~f0.0) goto (16|M0) L792 L792
L504:
cmp (16|M0) (lt)f1.1 null<1>:d r27.0<8;8,1>:d 0:w
(~f1.1) goto (16|M0) L792 L848
L536:
cmp (16|M0) (eq)f1.0 null<1>:d r27.0<8;8,1>:d 0:w
(~f1.0) goto (16|M0) L696 L696
L568:
and (16|M0) r35.0<1>:d r27.0<8;8,1>:d 1:w
add (16|M0) r35.0<1>:d r35.0<8;8,1>:d r21.0<8;8,1>:d {Compacted}
add (16|M0) r11.0<1>:d r11.0<8;8,1>:d r35.0<8;8,1>:d {Compacted}
cmp (16|M0) (gt)f0.0 null<1>:d r11.0<8;8,1>:d 40:w
(~f0.0) goto (16|M0) L696 L848
L632:
cmp (16|M0) (gt)f1.1 null<1>:d r27.0<8;8,1>:ud 0x1:uw
(f1.1) goto (16|M0) L696 L696
L664:
shr (16|M0) r27.0<1>:d r27.0<8;8,1>:ud 1:w
(W) jmpi L568
L696:
join (16|M0) L792
L712:
add (16|M0) r37.0<1>:d r11.0<8;8,1>:d -1:w
cmp (16|M0) (gt)f1.0 null<1>:d r11.0<8;8,1>:d 21:w
mov (16|M0) r11.0<1>:d r37.0<8;8,1>:d {Compacted}
(~f1.0) break (16|M0) L776 L776
L768:
mov (16|M0) r11.0<1>:d r37.0<8;8,1>:d {Compacted}
L776:
while (16|M0) L712
L792:
join (16|M0) L848
L808:
add (16|M0) r23.0<1>:d r23.0<8;8,1>:d 1:w
cmp (16|M0) (lt)f0.1 null<1>:d r23.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
(f0.1) goto.b (16|M0) L848 L312
L848:
join (16|M0) L848
L864:
shl (16|M0) r39.0<1>:d r9.0<8;8,1>:d 2:w
(W) mov (8|M0) r127.0<1>:ud r2.0<8;8,1>:ud {Compacted}
add (16|M0) r39.0<1>:d r39.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
sends (16|M0) null:w r39 r11 0x8C 0x04025E01
(W) send (8|M0) null r127 0x27 0x02000010 {EOT}
L928:
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
