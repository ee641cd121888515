// devices: dg2
#pragma OPENCL EXTENSION cl_intel_subgroup_split_matrix_multiply_accumulate : enable
float8 __attribute__((overloadable))
intel_sub_group_f16_f16_split_matrix_mad_k16(int4 a, int8 b, float8 sum);

__attribute__((intel_reqd_sub_group_size(8)))
kernel void split_matrix_product(global const int4 *a, global const int8 *b, global float8 *c) {
  int i = get_global_id(0);
  c[i] = intel_sub_group_f16_f16_split_matrix_mad_k16(a[i], b[i], c[i]);
}
