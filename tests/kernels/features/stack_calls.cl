// devices: pvc skl apl
// Functions that call each other, one of them from two places and from two kernels.
__attribute__((noinline)) int polynomial(int a, int b, global const int *p) {
  for (int i = 0; i < 10; i++)
    a = a * b + p[i];
  return a;
}
__attribute__((noinline)) int through(int a, global const int *p, int n) {
  return n <= 0 ? a : polynomial(a, 2, p) + a;
}
kernel void two_calls(global const int *in, global int *out, int n) {
  int i = get_global_id(0);
  out[i] = through(in[i], in, n) + polynomial(in[i + 1], 3, in);
}
kernel void one_call(global const int *in, global int *out, int n) {
  int i = get_global_id(0);
  out[i] = through(in[i], in, n - i % 3);
}
