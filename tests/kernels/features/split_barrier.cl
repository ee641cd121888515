// devices: dg2 pvc
// Data goes through local memory while the other work-items have arrived, but not passed.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void split_barrier(global const int *in, global int *out, local int *shared) {
  int i = get_local_id(0), g = get_global_id(0);
  shared[i] = in[g];
  __asm__ volatile("lsc_fence.slm.none.group");
  __asm__ volatile("sbarrier.signal");
  int meanwhile = in[g ^ 1] * 3;
  __asm__ volatile("sbarrier.wait");
  out[g] = shared[i ^ 21] + meanwhile;
}
