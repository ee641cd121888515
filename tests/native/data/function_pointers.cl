// Calls of functions by their address, which OpenCL C alone forbids; see build.py.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef int (*operation)(int, int);
__attribute__((noinline)) int sum(int a, int b) { return a + b; }
__attribute__((noinline)) int product(int a, int b) { return a * b; }
__attribute__((noinline)) int polynomial(int a, int b) {
  int s = 0;
  for (int i = 0; i < b; i++)
    s = s * 3 + a;
  return s;
}
// All work-items call the same function.
kernel void together(global const int *in, global int *out, int which) {
  int i = get_global_id(0);
  operation f = which == 0 ? sum : which == 1 ? product : polynomial;
  out[i] = f(in[i], i & 7);
}
// Neighbours call different ones, and some none.
kernel void apart(global const int *in, global int *out) {
  int i = get_global_id(0);
  operation f = i % 3 == 0 ? sum : i % 3 == 1 ? product : polynomial;
  int result = -1;
  if (in[i] & 1)
    result = f(in[i], i & 7);
  out[i] = result;
}
