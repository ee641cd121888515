// devices: dg2 pvc
// options: -cl-std=CL3.0
kernel void fences(global const int *in, global int *out, local int *shared) {
  int i = get_local_id(0), n = get_local_size(0);
  shared[i] = in[i];
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_all_svm_devices);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  out[i] = shared[i ^ 1];
  mem_fence(CLK_LOCAL_MEM_FENCE);
  atomic_work_item_fence(CLK_LOCAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);
  out[n + i] = shared[i ^ 3];
}
