// Counts of byte values: local atomics within a group, then global atomics.
kernel void histogram(global const uchar *data, volatile global uint *bins, int n) {
    local uint counts[256];
    for (int b = get_local_id(0); b < 256; b += get_local_size(0))
        counts[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < 256; b += get_local_size(0))
        if (counts[b])
            atomic_add(&bins[b], counts[b]);
}
