// devices: dg2 pvc tgllp
int __builtin_IB_dp4a_ss(int, int, int);
int __builtin_IB_dp4a_uu(int, int, int);
int __builtin_IB_dp4a_su(int, int, int);
int __builtin_IB_dp4a_us(int, int, int);
uint __builtin_IB_bfi(uint, uint, uint, uint);
uint __builtin_IB_bfrev(uint);
kernel void byte_products_by_name(global const int *a, global const int *b, global const int *c,
                                  global int *out) {
  int i = get_global_id(0), n = get_global_size(0);
  out[i] = __builtin_IB_dp4a_ss(c[i], a[i], b[i]);
  out[n + i] = __builtin_IB_dp4a_uu(c[i], a[i], b[i]);
  out[2 * n + i] = __builtin_IB_dp4a_su(c[i], a[i], b[i]);
  out[3 * n + i] = __builtin_IB_dp4a_us(c[i], a[i], b[i]);
  out[4 * n + i] = __builtin_IB_bfi(5, 3, a[i], b[i]);
  out[5 * n + i] = __builtin_IB_bfrev(a[i]);
}
