// tests/kernels/bin/apl/switch_case.bin, section .text.switch_lanes, as `iga64 -p=9 -d` prints it.
L0:
(W) mov (8|M0) r2.0<1>:ud r0.0<1;1,0>:ud
(W) or (1|M0) cr0.0<1>:ud cr0.0<0;1,0>:ud 0x4C0:uw {Switch}
(W) mul (1|M0) r3.0<1>:d r6.0<0;1,0>:d r2.1<0;1,0>:d {Compacted}
add (16|M0) r7.0<1>:d r3.0<0;1,0>:d r1.0<16;16,1>:uw
add (16|M0) r9.0<1>:d r7.0<8;8,1>:d r4.0<0;1,0>:d {Compacted}
shl (16|M0) r11.0<1>:d r9.0<8;8,1>:d 2:w
add (16|M0) r13.0<1>:d r11.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r15:w r13 0xC 0x04205E00
and (16|M0) r17.0<1>:d r15.0<8;8,1>:d 15:w
cmp (16|M0) (lt)f1.0 null<1>:d r17.0<8;8,1>:ud 0x4:uw
(~f1.0) goto (16|M0) L816 L816
L152:
cmp (16|M0) (lt)f0.1 null<1>:d r17.0<8;8,1>:ud 0x6:uw
(~f0.1) goto (16|M0) L520 L520
L184:
cmp (16|M0) (eq)f0.0 null<1>:d r17.0<8;8,1>:d 6:w
(~f0.0) goto (16|M0) L424 L424
L216:
cmp (16|M0) (lt)f1.1 null<1>:d r17.0<8;8,1>:ud 0x9:uw
(~f1.1) goto (16|M0) L328 L328
L248:
cmp (16|M0) (eq)f1.0 null<1>:d r17.0<8;8,1>:d 9:w
(~f1.0) goto (16|M0) L328 L1472
L280:
(W) mov (1|M0) f1.1<1>:uw 0x0:uw
mov (16|M0) r15.0<1>:d -1:w
(f1.1) goto (16|M0) L328 L1432
L328:
join (16|M0) L424
L344:
cmp (16|M0) (eq)f0.1 null<1>:d r17.0<8;8,1>:d 7:w
(~f0.1) goto (16|M0) L424 L456
L376:
(W) mov (1|M0) f1.0<1>:uw 0x0:uw
mov (16|M0) r15.0<1>:d -1:w
(f1.0) goto (16|M0) L424 L1432
L424:
join (16|M0) L456
L440:
xor (16|M0) r15.0<1>:d r15.0<8;8,1>:d 77:w
L456:
join (16|M0) L520
L472:
(W) mov (1|M0) f0.1<1>:uw 0x0:uw
add (16|M0) r15.0<1>:d r15.0<8;8,1>:d 1:w
(f0.1) goto (16|M0) L520 L1432
L520:
join (16|M0) L816
L536:
cmp (16|M0) (eq)f0.0 null<1>:d r17.0<8;8,1>:d 5:w
(~f0.0) if (16|M0) L600 L768
L568:
shl (16|M0) r15.0<1>:d r15.0<8;8,1>:d 3:w
else (16|M0) L768 L768
L600:
and (16|M0) (eq)f1.1 r19.0<1>:d r9.0<8;8,1>:d 7:w
(~f1.1) if (16|M0) L752 L752
L632:
(W) mov (1|M0) r3.1<1>:d 0:w
L648:
(W) shl (1|M0) r3.2<1>:d r3.1<0;1,0>:d 2:w
(W) add (1|M0) r3.1<1>:d r3.1<0;1,0>:d 1:w
(W) add (1|M0) r5.0<1>:d r3.2<0;1,0>:d r5.5<0;1,0>:d
cmp (16|M0) (lt)f1.1 null<1>:d r3.1<0;1,0>:ud r19.0<8;8,1>:ud
(W) send (1|M0) r21 r5 0xA 0x02110800
add (16|M0) r15.0<1>:d r15.0<8;8,1>:d r21.0<0;1,0>:d {Compacted}
(f1.1) while (16|M0) L648
L752:
endif (16|M0) L768
L768:
endif (16|M0) L784
L784:
(W) mov (1|M0) f0.0<1>:uw 0x0:uw
(f0.0) goto (16|M0) L816 L1432
L816:
join (16|M0) L1432
L832:
cmp (16|M0) (lt)f1.0 null<1>:d r17.0<8;8,1>:ud 0x2:uw
(~f1.0) if (16|M0) L1176 L1416
L864:
cmp (16|M0) (eq)f0.1 null<1>:d r17.0<8;8,1>:d 2:w
(~f0.1) if (16|M0) L1016 L1144
L896:
add (16|M0) r22.0<1>:d r9.0<8;8,1>:d 1:w
math.irem (8|M0) r22.0<1>:d r22.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
math.irem (8|M8) r23.0<1>:d r23.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
shl (16|M0) r22.0<1>:d r22.0<8;8,1>:d 2:w
add (16|M0) r22.0<1>:d r22.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r24:w r22 0xC 0x04205E00
or (16|M0) r24.0<1>:d r24.0<8;8,1>:d 1:w
math.iqot (8|M0) r15.0<1>:d r15.0<8;8,1>:d r24.0<8;8,1>:d {Compacted}
math.iqot (8|M8) r16.0<1>:d r16.0<8;8,1>:d r25.0<8;8,1>:d {Compacted}
else (16|M0) L1144 L1144
L1016:
add (16|M0) r26.0<1>:d r9.0<8;8,1>:d 2:w
math.irem (8|M0) r26.0<1>:d r26.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
math.irem (8|M8) r27.0<1>:d r27.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
shl (16|M0) r26.0<1>:d r26.0<8;8,1>:d 2:w
add (16|M0) r26.0<1>:d r26.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r28:w r26 0xC 0x04205E00
shl (16|M0) r28.0<1>:d r28.0<8;8,1>:d 2:w
and (16|M0) r28.0<1>:d r28.0<8;8,1>:d 252:w
add (16|M0) r28.0<1>:d r28.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r15:w r28 0xC 0x04205E00
L1144:
endif (16|M0) L1160
L1160:
else (16|M0) L1416 L1416
L1176:
cmp (16|M0) (eq)f0.0 null<1>:d r17.0<8;8,1>:d 0:w
(~f0.0) if (16|M0) L1312 L1400
L1208:
add (16|M0) r30.0<1>:d r9.0<8;8,1>:d 7:w
math.irem (8|M0) r30.0<1>:d r30.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
math.irem (8|M8) r31.0<1>:d r31.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
shl (16|M0) r30.0<1>:d r30.0<8;8,1>:d 2:w
add (16|M0) r30.0<1>:d r30.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r32:w r30 0xC 0x04205E00
add (16|M0) r15.0<1>:d r32.0<8;8,1>:d -3:w
else (16|M0) L1400 L1400
L1312:
add (16|M0) r34.0<1>:d r9.0<8;8,1>:d 1:w
math.irem (8|M0) r34.0<1>:d r34.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
math.irem (8|M8) r35.0<1>:d r35.0<8;8,1>:d r5.4<0;1,0>:d {Compacted}
shl (16|M0) r34.0<1>:d r34.0<8;8,1>:d 2:w
add (16|M0) r34.0<1>:d r34.0<8;8,1>:d r5.5<0;1,0>:d {Compacted}
send (16|M0) r36:w r34 0xC 0x04205E00
mul (16|M0) r15.0<1>:d r36.0<8;8,1>:d 5:w
L1400:
endif (16|M0) L1416
L1416:
endif (16|M0) L1432
L1432:
join (16|M0) L1472
L1448:
add (16|M0) r38.0<1>:d r11.0<8;8,1>:d r5.6<0;1,0>:d {Compacted}
sends (16|M0) null:w r38 r15 0x8C 0x04025E01
L1472:
join (16|M0) L1472
L1488:
(W) mov (8|M0) r127.0<1>:ud r2.0<8;8,1>:ud {Compacted}
(W) send (8|M0) null r127 0x27 0x02000010 {EOT}
L1512:
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
illegal
