// Tree reduction: one partial sum per group, in a fixed order.
kernel void reduce(global const float *in, global float *partial, local float *scratch) {
    int l = get_local_id(0);
    scratch[l] = in[get_global_id(0)];
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
    }
    if (l == 0)
        partial[get_group_id(0)] = scratch[0];
}
