// tests/kernels/bin/apl/control_flow.bin, section .text.collatz, as `iga64 -p=9 -d` prints it.
L0:
(W) mov (8|M0) r2.0<1>:ud r0.0<1;1,0>:ud
(W) or (1|M0) cr0.0<1>:ud cr0.0<0;1,0>:ud 0x4C0:uw {Switch}
(W) mul (1|M0) r3.0<1>:d r6.0<0;1,0>:d r2.1<0;1,0>:d {Compacted}
add (16|M0) r7.0<1>:d r3.0<0;1,0>:d r1.0<16;16,1>:uw
add (16|M0) r7.0<1>:d r7.0<8;8,1>:d r4.0<0;1,0>:d {Compacted}
shl (16|M0) r9.0<1>:d r7.0<8;8,1>:d 2:w
add (16|M0) r11.0<1>:d r9.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
send (16|M0) r13:w r11 0xC 0x04205E00
cmp (16|M0) (gt)f0.0 null<1>:d r13.0<8;8,1>:ud 0x1:uw
(~f0.0) if (16|M0) L168 L320
L136:
mov (16|M0) r15.0<1>:d 0:w
else (16|M0) L320 L320
L168:
(W) mov (1|M0) r3.1<1>:d 0:w
L184:
mul (16|M0) r17.0<1>:d r13.0<8;8,1>:d 3:w
shr (16|M0) r19.0<1>:d r13.0<8;8,1>:ud 1:w
and (16|M0) (eq)f1.0 null<1>:d r13.0<8;8,1>:d 1:w
(W) add (1|M0) r3.1<1>:d r3.1<0;1,0>:d 1:w
add (16|M0) r17.0<1>:d r17.0<8;8,1>:d 1:w
mov (16|M0) r15.0<1>:d r3.1<0;1,0>:d {Compacted}
(f1.0) sel (16|M0) r13.0<1>:d r19.0<8;8,1>:d r17.0<8;8,1>:d
cmp (16|M0) (gt)f0.1 null<1>:d r13.0<8;8,1>:ud 0x1:uw
(f0.1) while (16|M0) L184
L320:
endif (16|M0) L336
L336:
add (16|M0) r21.0<1>:d r9.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
(W) mov (8|M0) r127.0<1>:ud r2.0<8;8,1>:ud {Compacted}
sends (16|M0) null:w r21 r15 0x8C 0x04025E01
(W) send (8|M0) null r127 0x27 0x02000010 {EOT}
L384:
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
