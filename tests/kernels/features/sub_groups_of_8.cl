// devices: apl skl dg2
// options: -cl-std=CL3.0
// Data Center GPU Max has no sub-groups of 8.
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
__attribute__((intel_reqd_sub_group_size(8)))
kernel void blocks_of_8(global const uint *in, global uint *out, local uint *shared) {
  int at = get_sub_group_id() * 64;
  uint8 v = intel_sub_group_block_read8(in + at);
  shared[get_local_id(0)] = v.s0;
  barrier(CLK_LOCAL_MEM_FENCE);
  intel_sub_group_block_write8(out + at, v.s76543210 + shared[get_local_id(0) ^ 1]);
}
