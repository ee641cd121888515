// A tile of 8 x 16 sums for each sub-group; in the loop its 16 lanes have a row of B, two elements
// deep, and the rows of A that belong to it.
float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(short8, int8, float8);
float8 __attribute__((overloadable)) intel_sub_group_bf16_bf16_matrix_mad_k16(short8, int8, float8);

#define TILE(name, product)                                                                        \
    __attribute__((intel_reqd_sub_group_size(16))) kernel void name(                               \
        global const ushort *a, global const uint *b, global float *c, int n) {                    \
        int lane = get_sub_group_local_id();                                                       \
        int row = 8 * get_global_id(1), column = 16 * (get_global_id(0) / 16);                     \
        float8 sum = 0;                                                                            \
        for (int k = 0; k < n; k += 16) {                                                          \
            short8 x;                                                                              \
            int8 y;                                                                                \
            __attribute__((opencl_unroll_hint)) for (int m = 0; m < 8; m++) {                      \
                x[m] = as_short(a[(row + m) * n + k + lane]);                                      \
                y[m] = as_int(b[(k / 2 + m) * n + column + lane]);                                 \
            }                                                                                      \
            sum = product(x, y, sum);                                                              \
        }                                                                                          \
        __attribute__((opencl_unroll_hint)) for (int m = 0; m < 8; m++)                            \
            c[(row + m) * n + column + lane] = sum[m];                                             \
    }

TILE(tile_half, intel_sub_group_f16_f16_matrix_mad_k16)
TILE(tile_bfloat, intel_sub_group_bf16_bf16_matrix_mad_k16)
