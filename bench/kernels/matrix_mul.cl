// C = A * B through 16x16 tiles of local memory that the caller provides.
#define BLOCK 16

kernel void matrix_mul(global float *c, global const float *a, global const float *b,
                       local float *ta, local float *tb, int width_a, int width_b) {
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_group_id(0) * BLOCK + x, row = get_group_id(1) * BLOCK + y;
    float sum = 0.0f;
    for (int start = 0; start < width_a; start += BLOCK) {
        ta[y * BLOCK + x] = a[row * width_a + start + x];
        tb[y * BLOCK + x] = b[(start + y) * width_b + column];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < BLOCK; k++)
            sum += ta[y * BLOCK + k] * tb[k * BLOCK + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * width_b + column] = sum;
}
