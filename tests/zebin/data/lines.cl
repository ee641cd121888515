float f(float x) {
  for (int i = 0; i < 3; i++) x = x * 2 + i;
  return x;
}

kernel void k(global float *o) {
  int i = get_global_id(0);
  o[i] = f(o[i]);
}
