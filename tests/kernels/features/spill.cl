// devices: pvc skl apl
// More values at once than there are registers.
kernel void spill(global uint *a) {
  int i = get_global_id(0);
  uint r[96];
  for (int k = 0; k < 96; k++)
    r[k] = a[i * 96 + k];
  for (int turn = 0; turn < 5; turn++)
    for (int k = 0; k < 96; k++)
      r[k] = r[k] * r[(k * 5 + 1) % 96] + r[(k * 11 + 3) % 96];
  for (int k = 0; k < 96; k++)
    a[i * 96 + k] = r[k];
}
