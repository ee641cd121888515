// devices: pvc skl apl
// Assembly with declarations of its own, and a comparison that guards a write.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void inline_assembly(global float *a, global int *b) {
  int i = get_global_id(0), n = get_global_size(0);
  float x = a[i], y = a[n + i], product;
  __asm__ volatile("mul (M1_NM, 16) %0(0,0)<1> %1(0,0)<1;1,0> %2(0,0)<1;1,0>"
                   : "=rw"(product) : "rw"(x), "rw"(y));
  a[i] = product;
  int p = b[i], q;
  __asm__ volatile("{\n"
                   ".decl COPY v_type=G type=d num_elts=16 align=hword\n"
                   ".decl LARGE v_type=P num_elts=16\n"
                   "mov (M1, 16) COPY(0,0)<1> %1(0,0)<1;1,0>\n"
                   "cmp.gt (M1, 16) LARGE COPY(0,0)<1;1,0> 0x3:d\n"
                   "(LARGE) sel (M1, 16) %0(0,0)<1> COPY(0,0)<1;1,0> 0x9:d\n"
                   "}\n"
                   : "=rw"(q) : "rw"(p));
  b[i] = q;
}
