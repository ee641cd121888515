// tests/kernels/bin/apl/call_noinline.bin, section .text.call_noinline, as `iga64 -p=9 -d` prints it.
L0:
(W) mov (8|M0) r7.0<1>:ud r0.0<1;1,0>:ud
(W) or (1|M0) cr0.0<1>:ud cr0.0<0;1,0>:ud 0x4C0:uw {Switch}
(W) mul (1|M0) r6.1<1>:d r6.1<0;1,0>:d r7.1<0;1,0>:d {Compacted}
mov (8|M0) r27.0<1>:uq r5.1<0;1,0>:uq
mov (8|M0) r30.0<1>:d r5.6<0;1,0>:d
add (8|M0) r16.0<1>:d r6.1<0;1,0>:d r1.0<8;8,1>:uw
add (8|M0) r16.0<1>:d r16.0<8;8,1>:d r4.0<0;1,0>:d {Compacted}
shl (8|M0) r26.0<1>:d r16.0<8;8,1>:d 2:w
add (8|M0) r3.0<1>:d r26.0<8;8,1>:d r5.7<0;1,0>:d {Compacted}
send (8|M0) r23:f r3 0xC 0x02106E00
mov (8|M0) r21.0<1>:f r23.0<8;8,1>:f {Compacted}
call (8|M0) r5.4:ud L408
L160:
(W) mov (1|M0) null<1>:ud r7.0<0;1,0>:ud {Switch}
cmp (8|M0) (lt)f1.0 null<1>:f r23.0<8;8,1>:f 1.0:f
mov (8|M0) r22.0<1>:f r29.0<8;8,1>:f {Compacted}
(f1.0) if (8|M0) L344 L344
L216:
(W) shr (1|M0) r5.0<1>:d r5.6<0;1,0>:ud 31:w
mov (8|M0) r10.0<1>:f r23.0<8;8,1>:f {Compacted}
mov (8|M0) r15.0<1>:f 0.25:f
mov (8|M0) r19.0<1>:uq r5.1<0;1,0>:uq
(W) add (1|M0) r5.0<1>:d r5.0<0;1,0>:d r5.6<0;1,0>:d {Compacted}
(W) asr (1|M0) r5.0<1>:d r5.0<0;1,0>:d 1:w
mov (8|M0) r14.0<1>:d r5.0<0;1,0>:d {Compacted}
call (8|M0) r5.0:ud L608
L320:
(W) mov (1|M0) null<1>:ud r7.0<0;1,0>:ud {Switch}
add (8|M0) r22.0<1>:f r22.0<8;8,1>:f r25.0<8;8,1>:f {Compacted}
L344:
endif (8|M0) L360
L360:
add (8|M0) r2.0<1>:d r26.0<8;8,1>:d r6.0<0;1,0>:d {Compacted}
(W) mov (8|M0) r112.0<1>:ud r7.0<8;8,1>:ud {Compacted}
sends (8|M0) null:ud r2 r22 0x4C 0x02026E02
(W) send (8|M0) null r112 0x27 0x02000010 {EOT}
L408:
(W) mov (1|M0) null<1>:ud r7.0<0;1,0>:ud {Switch}
cmp (8|M0) (le)f0.1 null<1>:f r21.0<8;8,1>:f 0.0:f
(~f0.1) if (8|M0) L560 L568
L456:
mov (8|M0) r10.0<1>:f r21.0<8;8,1>:f {Compacted}
mov (8|M0) r15.0<1>:f 0.5:f
mov (8|M0) r19.0<1>:uq r27.0<4;4,1>:uq
mov (8|M0) r14.0<1>:d r30.0<8;8,1>:d {Compacted}
call (8|M0) r5.0:ud L608
L520:
(W) mov (1|M0) null<1>:ud r7.0<0;1,0>:ud {Switch}
add (8|M0) r24.0<1>:f r25.0<8;8,1>:f r21.0<8;8,1>:f {Compacted}
else (8|M0) L568 L568
L560:
mov (8|M0) r24.0<1>:f -r21.0<8;8,1>:f {Compacted}
L568:
endif (8|M0) L584
L584:
mov (8|M0) r29.0<1>:f r24.0<8;8,1>:f {Compacted}
ret (8|M0) r5.4:ud
L608:
(W) mov (1|M0) null<1>:ud r7.0<0;1,0>:ud {Switch}
cmp (8|M0) (gt)f0.0 null<1>:d r14.0<8;8,1>:d 0:w
(f0.0) if (8|M0) L840 L840
L656:
mov (8|M0) r18.0<1>:d r19.0<2;1,0>:d
mov (8|M0) r17.0<1>:d r19.1<2;1,0>:d
(W) mov (1|M0) r5.7<1>:d 0:w
L704:
(W) shl (1|M0) r6.1<1>:d r5.7<0;1,0>:d 2:w
(W) add (1|M0) r5.7<1>:d r5.7<0;1,0>:d 1:w
addc (8|M0) r13.0<1>:ud r18.0<8;8,1>:ud r6.1<0;1,0>:ud {AccWrEn,Compacted}
cmp (8|M0) (lt)f1.1 null<1>:d r5.7<0;1,0>:d r14.0<8;8,1>:d
mov (8|M0) r12.0<1>:ud acc0.0<8;8,1>:ud {Compacted}
add (8|M0) r8.1<2>:ud r12.0<8;8,1>:ud r17.0<8;8,1>:ud
mov (8|M0) r8.0<2>:d r13.0<8;8,1>:d
send (8|M0) r11:f r8:d 0xC 0x041401FF
mad (8|M0) r10.0<1>:f r11.0<2;1>:f r15.0<2;1>:f r10.0<1>:f {Compacted}
(f1.1) while (8|M0) L704
L840:
endif (8|M0) L856
L856:
mov (8|M0) r25.0<1>:f r10.0<8;8,1>:f {Compacted}
ret (8|M0) r5.0:ud
L880:
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
