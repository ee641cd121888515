// Products of matrices on 16 columns, by the builtins of newer compilers.
#define PRODUCT(NAME, A, B, C)                                                                     \
  __attribute__((intel_reqd_sub_group_size(16))) kernel void NAME(global A *a, global B *b,        \
                                                                  global C *c) {                   \
    int lane = get_sub_group_local_id();                                                           \
    c[lane] = intel_sub_group_##NAME(a[lane], b[lane], c[lane]);                                   \
  }

PRODUCT(f16_f16_matrix_mad_k16, short8, int8, float8)
PRODUCT(bf16_bf16_matrix_mad_k16, short8, int8, float8)
PRODUCT(i8_i8_matrix_mad_k32, short8, int8, int8)
PRODUCT(u8_u8_matrix_mad_k32, ushort8, uint8, int8)
PRODUCT(tf32_tf32_matrix_mad_k8, float4, float8, float8)
