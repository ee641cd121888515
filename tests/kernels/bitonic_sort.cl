// Sorts twice as many unsigned integers as there are work-items in the one group.
kernel void bitonic_sort(global uint *data, local uint *t) {
    uint l = get_local_id(0), n = 2 * get_local_size(0);
    t[l] = data[l];
    t[l + n / 2] = data[l + n / 2];
    for (uint size = 2; size <= n; size *= 2)
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint i = 2 * l - (l & (stride - 1));
            uint a = t[i], b = t[i + stride];
            if ((a > b) == ((i & size) == 0)) {
                t[i] = b;
                t[i + stride] = a;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[l] = t[l];
    data[l + n / 2] = t[l + n / 2];
}
