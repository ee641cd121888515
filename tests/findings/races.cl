// Kernels with and without races; test_races.py says which.

kernel void ordered(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l ^ 1];
}

kernel void no_barrier(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    out[get_global_id(0)] = t[63 - l];
}

kernel void lanes_of_a_thread(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    out[get_global_id(0)] = t[l ^ 1];
}

kernel void in_a_loop(global int *out, int n) {
    local int t[64];
    int l = get_local_id(0);
    for (int k = 0; k < n; k++) {
        t[(l + k) % 64] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] += t[(l + 32) % 64];
    }
}

kernel void all_write_one(global int *out) {
    local int t[1];
    t[0] = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[0];
}

kernel void all_write_the_same(global int *out) {
    if (out[1 + get_global_id(0)] == 0)
        out[0] = 7;
}

kernel void neighbours_bytes(global char *out) {
    out[get_global_id(0)] = get_global_id(0);
}

kernel void between_groups(global int *out) {
    int i = get_global_id(0), n = get_global_size(0);
    out[i] = i;
    out[n + i] = out[n - 1 - i];
}

kernel void counted(global int *out) {
    atomic_inc(out);
    atomic_add(out + 1, (int)get_local_id(0));
}

kernel void counted_and_read(global int *out) {
    atomic_inc(out);
    out[1 + get_global_id(0)] = out[0];
}

kernel void exchanged(global int *out) {
    int old;
    do {
        old = *(volatile global int *)out;
    } while (atomic_cmpxchg(out, old, old + 1) != old);
}

kernel void local_counter(global int *out) {
    local int n;
    if (get_local_id(0) == 0)
        n = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&n);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = n;
}

kernel void reduce(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    for (int s = 32; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < s)
            t[l] += t[l + s];
    }
    if (l == 0)
        out[get_group_id(0)] = t[0];
}

kernel void wrong_fence(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] = t[63 - l];
}

kernel void wrong_fence_of_global(global int *out) {
    int l = get_local_id(0), first = get_group_id(0) * 64;
    out[first + l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[128 + get_global_id(0)] = out[first + 63 - l];
}

kernel void both_fences(global int *out) {
    local int t[64];
    int l = get_local_id(0), first = get_group_id(0) * 64;
    out[first + l] = t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[128 + get_global_id(0)] = out[first + 63 - l] + t[63 - l];
}

kernel void one_for_all(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l & 3] = l & 3;
    out[get_global_id(0)] = t[0] + t[1] + t[2] + t[3];
}
