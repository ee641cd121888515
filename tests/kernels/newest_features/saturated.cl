// What two releases of the compiler make differently.
kernel void saturated(global const long *a, global const long *b, global long *c) {
  size_t i = get_global_id(0);
  c[i] = sub_sat(a[i], b[i]);
}
