// devices: dg2 pvc
// expect: the checker reports it
// madw writes low and high dwords to registers of their own; the variable holds the low ones.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void madw_too_small(global int *a) {
  int i = get_global_id(0);
  int x = a[i], y = a[i + 16], z = a[i + 32], low;
  __asm__ volatile("madw (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> %2(0,0)<1;1,0> %3(0,0)<1;1,0>\n"
                   : "=rw"(low) : "rw"(x), "rw"(y), "rw"(z));
  a[i] = low;
}
