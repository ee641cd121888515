// Every 32-bit atomic of OpenCL 1.2 on global and on local memory; results do not depend on order.
// result[0..9] come from global atomics, then ten from the local ones of each group.
#define ALL(v, i, x)                                                                              \
    atomic_add(&v[0], x);                                                                         \
    atomic_sub(&v[1], x);                                                                         \
    atomic_inc(&v[2]);                                                                            \
    atomic_dec(&v[3]);                                                                            \
    atomic_min(&v[4], x);                                                                         \
    atomic_max(&v[5], x);                                                                         \
    atomic_and(&v[6], ~(1 << (i & 15)));                                                          \
    atomic_or(&v[7], 1 << (i & 31));                                                              \
    atomic_xor(&v[8], x);                                                                         \
    atomic_cmpxchg(&v[9], i, i + 1000)

kernel void atomics(volatile global int *result, global const int *x, global int *order) {
    local int v[10];
    int i = get_global_id(0), l = get_local_id(0);
    if (l < 10)
        v[l] = l == 6 ? -1 : l == 9 ? 5 : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ALL(result, i, x[i]);
    ALL(v, l, x[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 10)
        atomic_xchg(&result[10 + 10 * get_group_id(0) + l], v[l]);
    order[atomic_inc(&order[get_global_size(0)])] = i;
}

// Unsigned minimum and maximum, and a float sum by compare-and-exchange.
kernel void atomics_loop(volatile global uint *limits, volatile global int *sum,
                         global const float *x) {
    int i = get_global_id(0);
    atomic_min(&limits[0], as_uint(x[i]));
    atomic_max(&limits[1], as_uint(x[i]));
    int old = *sum, seen;
    for (;;) {
        seen = atomic_cmpxchg(sum, old, as_int(as_float(old) + x[i]));
        if (seen == old)
            break;
        old = seen;
    }
}
