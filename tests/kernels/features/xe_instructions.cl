// devices: dg2 pvc
// Instructions that the compiler's builtins do not all reach.
#define TWO(op, d, x, y) \
  __asm__ volatile(op " (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> %2(0,0)<1;1,0>\n" \
                   : "=rw"(d) : "rw"(x), "rw"(y))
#define THREE(op, d, x, y, z) \
  __asm__ volatile(op " (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> %2(0,0)<1;1,0> %3(0,0)<1;1,0>\n" \
                   : "=rw"(d) : "rw"(x), "rw"(y), "rw"(z))

__attribute__((intel_reqd_sub_group_size(16)))
kernel void xe_instructions(global const int *a, global const int *b, global const int *c,
                            global int *out) {
  int i = get_global_id(0), n = get_global_size(0);
  int x = a[i], y = b[i], z = c[i], d = 0;
  TWO("rol", d, x, y); out[i] = d;
  TWO("ror", d, x, y); out[n + i] = d;
  THREE("add3", d, x, y, z); out[2 * n + i] = d;
  THREE("dp4a", d, x, y, z); out[3 * n + i] = d;
  THREE("bfn.xe8", d, x, y, z); out[4 * n + i] = d;
}
