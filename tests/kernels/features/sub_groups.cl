// devices: apl skl dg2 pvc
// options: -cl-std=CL3.0 -cl-intel-greater-than-4GB-buffer-required
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
__attribute__((intel_reqd_sub_group_size(16)))
kernel void collectives(global const int *in, global int *out) {
  int i = get_global_id(0), n = get_global_size(0), v = in[i];
  uint s = get_sub_group_local_id();
  out[i] = sub_group_reduce_add(v);
  out[n + i] = sub_group_scan_exclusive_max(v);
  out[2 * n + i] = sub_group_scan_inclusive_min(v);
  out[3 * n + i] = sub_group_broadcast(v, 3) + 2 * sub_group_all(v > -90) + sub_group_any(v > 90);
  out[4 * n + i] = intel_sub_group_shuffle(v, s ^ 1);
  out[5 * n + i] = intel_sub_group_shuffle_down(v, v + 1, 1);
  out[6 * n + i] = intel_sub_group_shuffle_up(v + 2, v, 2);
  out[7 * n + i] = intel_sub_group_shuffle_xor(v, 4);
  out[8 * n + i] = get_sub_group_id() + 16 * get_num_sub_groups() + get_sub_group_size();
}
__attribute__((intel_reqd_sub_group_size(16)))
kernel void blocks(global const uint *a, global uint *b, global const ushort *c, global ushort *d,
                   global const ulong *e, global ulong *f) {
  int at = get_sub_group_id() * 64;
  uint4 v = intel_sub_group_block_read4(a + at);
  intel_sub_group_block_write4(b + at, v.wzyx);
  ushort4 u = intel_sub_group_block_read_us4(c + at);
  intel_sub_group_block_write_us4(d + at, u * (ushort)3);
  ulong4 z = intel_sub_group_block_read_ul4(e + at);
  intel_sub_group_block_write_ul4(f + at, z + 1UL);
}
