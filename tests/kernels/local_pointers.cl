// Two __local arguments of different types beside a static local array.
kernel void local_pointers(local int *first, local float *second, global const int *in,
                           global float *out) {
    local int fixed[4];
    int l = get_local_id(0), n = get_local_size(0);
    first[l] = in[get_global_id(0)];
    second[n - 1 - l] = 0.5f * l;
    if (l < 4)
        fixed[l] = 100 * (l + (int)get_group_id(0));
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = first[(l + 1) % n] + second[l] + fixed[l & 3];
}
