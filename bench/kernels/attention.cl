// A work-item has a row of Q and its sums; keys and values come in tiles of local memory, and the
// greatest score so far is corrected as they come.
#define DEPTH 32
#define TILE 64

kernel void attention(global const float *q, global const float *keys, global const float *values,
                      global float *out, int count, float scale) {
    local float tile_k[TILE * DEPTH], tile_v[TILE * DEPTH];
    int l = get_local_id(0), row = get_global_id(0);
    float own[DEPTH], sums[DEPTH], most = -INFINITY, weights = 0;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        own[d] = q[row * DEPTH + d] * scale;
        sums[d] = 0;
    }
    for (int first = 0; first < count; first += TILE) {
        for (int i = l; i < TILE * DEPTH; i += TILE) {
            tile_k[i] = keys[first * DEPTH + i];
            tile_v[i] = values[first * DEPTH + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++) {
            float score = 0;
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                score += own[d] * tile_k[j * DEPTH + d];
            float more = fmax(most, score), before = native_exp(most - more);
            float weight = native_exp(score - more);
            weights = weights * before + weight;
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                sums[d] = sums[d] * before + weight * tile_v[j * DEPTH + d];
            most = more;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
        out[row * DEPTH + d] = sums[d] / weights;
}
