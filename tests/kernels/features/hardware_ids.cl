// devices: pvc skl apl
uint __builtin_IB_eu_id(void);
uint __builtin_IB_eu_thread_id(void);
uint __builtin_IB_subslice_id(void);
int __builtin_IB_hw_thread_id(void);
void __builtin_IB_eu_thread_pause(uint);
kernel void hardware_ids(global uint *out) {
  int i = get_global_id(0), n = get_global_size(0);
  out[i] = __builtin_IB_eu_id();
  out[n + i] = __builtin_IB_eu_thread_id();
  out[2 * n + i] = __builtin_IB_subslice_id();
  out[3 * n + i] = __builtin_IB_hw_thread_id();
  __builtin_IB_eu_thread_pause(32);
}
