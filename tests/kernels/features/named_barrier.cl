// devices: pvc
__attribute__((intel_reqd_sub_group_size(16)))
kernel void named_barrier(global const int *in, global int *out, local int *shared) {
  int i = get_local_id(0), g = get_global_id(0);
  shared[i] = in[g];
  __asm__ volatile("lsc_fence.slm.none.group");
  __asm__ volatile("nbarrier.signal 0x1:ub 0x4:ub");
  __asm__ volatile("nbarrier.wait 0x1:ub");
  out[g] = shared[i ^ 37];
}
