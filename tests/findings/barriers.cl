kernel void lanes(global int *o) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (l & 1)
        barrier(CLK_LOCAL_MEM_FENCE);
    else
        o[l] = 2;
    o[l] += t[63 - l];
}
kernel void threads_differ(global int *o) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (l < 32) {
        barrier(CLK_LOCAL_MEM_FENCE);
        o[l] = t[63 - l];
    } else {
        o[l] = 5;
    }
}
kernel void two_barriers(global int *o) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (l < 32) {
        barrier(CLK_LOCAL_MEM_FENCE);
        o[l] = t[63 - l];
    } else {
        o[l] = 3;
        barrier(CLK_LOCAL_MEM_FENCE);
        o[l] += t[2];
    }
}
kernel void spins(global volatile int *o) {
    int l = get_local_id(0);
    if (l == 3)
        while (atomic_add(o, 0) == 0)
            o[1] = o[1] + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[l + 2] = 1;
}
