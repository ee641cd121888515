// devices: pvc
// Each sub-group adds the product of an 8x16 and a 16x16 matrix of half to an 8x16 matrix of float.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void matrix_product(global const int4 *a, global const int8 *b, global float8 *c) {
  int i = get_global_id(0);
  float8 sum = c[i], result;
  int4 left = a[i];
  int8 right = b[i];
  __asm__ volatile("{\n"
                   ".decl LEFT v_type=G type=d num_elts=64 align=wordx32 alias=<%2,0>\n"
                   ".decl RIGHT v_type=G type=d num_elts=128 align=wordx32 alias=<%3,0>\n"
                   "dpas.hf.hf.8.8 (M1, 16) %0.0 %1.0 RIGHT.0 LEFT(0,0)\n"
                   "}\n"
                   : "=rw"(result) : "rw"(sum), "rw"(left), "rw"(right));
  c[i] = result;
}
