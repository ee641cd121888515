// devices: dg2 pvc
#pragma OPENCL EXTENSION cl_intel_bfloat16_conversions : enable
ushort __attribute__((overloadable)) intel_convert_bfloat16_as_ushort(float x);
float __attribute__((overloadable)) intel_convert_as_bfloat16_float(ushort x);
kernel void bfloat16(global const float *a, global ushort *narrow, global const ushort *b,
                     global float *wide) {
  int i = get_global_id(0);
  narrow[i] = intel_convert_bfloat16_as_ushort(a[i]);
  wide[i] = intel_convert_as_bfloat16_float(b[i]);
}
