// devices: dg2 pvc
float __builtin_IB_atomic_add_global_f32(volatile global float *place, float x);
kernel void atomic_float(volatile global float *sums, global float *before) {
  int i = get_global_id(0);
  before[i] = __builtin_IB_atomic_add_global_f32(sums, 1.0f);
  __builtin_IB_atomic_add_global_f32(sums + 1, (float)i);
}
