// devices: pvc
// options: -cl-std=CL2.0
__attribute__((intel_reqd_sub_group_size(16)))
kernel void sub_group_of_16(global float *a, global const float *b, int n) {
  int i = get_global_id(0);
  if (i < n)
    a[i] = b[i] * a[i];
}
__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void group_of_16x16(global const float *in, global float *out, int n) {
  out[get_global_id(1) * n + get_global_id(0)] =
      in[get_local_id(0) * n + get_local_id(1)] + get_global_size(0) + get_num_groups(1) +
      get_local_size(2) + get_group_id(2) + get_work_dim() + get_global_offset(1) +
      get_local_linear_id();
}
