// Exclusive prefix sum within each group, two elements per work-item (Blelloch), and the group sums.
kernel void scan(global const int *in, global int *out, global int *sums, local int *t) {
    int l = get_local_id(0), n = 2 * get_local_size(0), base = get_group_id(0) * n;
    t[2 * l] = in[base + 2 * l];
    t[2 * l + 1] = in[base + 2 * l + 1];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d)
            t[offset * (2 * l + 2) - 1] += t[offset * (2 * l + 1) - 1];
    }
    if (l == 0) {
        sums[get_group_id(0)] = t[n - 1];
        t[n - 1] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            int lower = offset * (2 * l + 1) - 1, upper = offset * (2 * l + 2) - 1;
            int v = t[lower];
            t[lower] = t[upper];
            t[upper] += v;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + 2 * l] = t[2 * l];
    out[base + 2 * l + 1] = t[2 * l + 1];
}
