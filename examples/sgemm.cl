// C = alpha * A * B + beta * C, row-major; 16x16 tiles of A and B pass through local memory.
// A is m x k, B is k x n; global size (n, m), local size (16, 16), every size a multiple of 16.
#define TILE 16

kernel void sgemm(global const float *a, global const float *b, global float *c, int n, int k,
                  float alpha, float beta) {
    local float tile_a[TILE][TILE];
    local float tile_b[TILE][TILE];
    int column = get_global_id(0), row = get_global_id(1);
    int x = get_local_id(0), y = get_local_id(1);
    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        tile_a[y][x] = a[row * k + t + x];
        tile_b[y][x] = b[(t + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}
