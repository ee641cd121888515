// devices: pvc skl apl
kernel void of_lanes(global const int *in, global int *out, int n) {
  int i = get_global_id(0), x = in[i];
  out[i] = -100;
  switch (x) {
  case 0: x = 5 * in[i + 1]; break;
  case 1: x = in[i + 7] - 3; break;
  case 2: x = in[in[i + 2] & 63]; break;
  case 3: x /= in[i + 1] | 1; break;
  case 4: x = x << 3; break;
  case 5: for (int k = 0; k < n; k++) x += in[k]; break;
  case 6: x ^= 77;
  case 7: x += 1; break;
  case 9: return;
  default: x = -1;
  }
  out[i] = x;
}
kernel void of_all(global const int *in, global int *out, int n) {
  int i = get_global_id(0), x = in[i];
  switch (n) {
  case 0: x = 5 * in[i + 1]; break;
  case 1: x = in[i + 7] - 3; break;
  case 2: x = in[in[i + 2] & 63]; break;
  case 3: x /= in[i + 1] | 1; break;
  case 4: x = x << 3; break;
  case 5: x ^= 77; break;
  case 6: x += 1; break;
  case 7: x *= in[i + 3]; break;
  }
  out[i] = x;
}
kernel void nested(global const int *in, global int *out, int n) {
  int i = get_global_id(0), s = 0;
  for (int j = 0; j < n; j++) {
    if (in[j] == i) continue;
    if (in[j] < 0) break;
    int k = in[j];
    while (k > 0) {
      s += k & 1;
      k >>= 1;
      if (s > 20 + i) goto out_of_it;
    }
    do {
      s--;
    } while (s > 10);
  }
out_of_it:
  out[i] = s;
}
