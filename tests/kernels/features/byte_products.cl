// devices: tgllp dg2 pvc
// options: -cl-std=CL3.0
int __builtin_spirv_OpSDotKHR_v4i8_v4i8(char4, char4);
uint __builtin_spirv_OpUDotKHR_v4i8_v4i8(uchar4, uchar4);
int __builtin_spirv_OpSUDotKHR_v4i8_v4i8(char4, uchar4);
int __builtin_spirv_OpSDotAccSatKHR_v4i8_v4i8_i32(char4, char4, int);
kernel void byte_products(global const char4 *a, global const uchar4 *b, global const int *c,
                          global int *out) {
  int i = get_global_id(0), n = get_global_size(0);
  out[i] = __builtin_spirv_OpSDotKHR_v4i8_v4i8(a[i], a[i + 1]);
  out[n + i] = __builtin_spirv_OpSUDotKHR_v4i8_v4i8(a[i], b[i]);
  out[2 * n + i] = __builtin_spirv_OpSDotAccSatKHR_v4i8_v4i8_i32(a[i], a[i + 2], c[i]);
  out[3 * n + i] = __builtin_spirv_OpUDotKHR_v4i8_v4i8(b[i], b[i + 1]);
}
