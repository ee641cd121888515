// Results that are not exact, and where they go.

kernel void address(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = table[(int)native_sqrt(in[i])];
}

kernel void divided(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[(int)native_divide(6.0f, in[i]) & 15] = 1;
}

kernel void branch(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    if (native_exp(in[i]) > 20.0f)
        out[i] += table[i] * 3 + out[i + 64];
}

kernel void predicate(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = native_exp(in[i]) > 20.0f ? 7 : 9;
}

kernel void atomic(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    atomic_xchg(out + (i & 3), (int)(native_sin(in[i]) * 10.0f));
}

kernel void values(global float *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = native_sqrt(in[i]) + native_exp(in[table[i] & 15]) * native_recip(in[i]);
    if (in[i] > 3.0f)
        out[i + 64] = (float)table[i];
}

kernel void exact(global float *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = in[table[i] & 15] * 3.0f + (float)(table[i] >> (i & 7));
}

// Through memory of the group, and of another work item.
kernel void shared(global int *out, global const float *in, global const int *table) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = (int)native_sqrt(in[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = table[t[63 - l]];
}

// What is written over an approximate value is exact again.
kernel void over(global int *out, global const float *in, global const int *table) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = (int)native_sqrt(in[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0) + 64] = table[t[63 - l]];
}

// In an array that registers hold, by an index.
kernel void indexed(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    int own[32];
    for (int k = 0; k < 32; k++)
        own[k] = table[i + k];
    out[i] = own[(int)native_sqrt(in[i])];
}

__attribute__((noinline)) int root(float x) { return (int)native_sqrt(x); }

kernel void called(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = table[root(in[i])];
}

// What lies in a frame while the function calls itself.
__attribute__((noinline)) int down(int n, float x, global const int *table) {
    if (n <= 0)
        return 1;
    int at = (int)native_sqrt(x);
    int below = down(n - 1, x + 1.0f, table);
    return below + table[at];
}

kernel void recursive(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    out[i] = down(2, in[i], table);
}

kernel void shuffled(global int *out, global const float *in, global const int *table) {
    int i = get_global_id(0);
    int at = (int)native_sqrt(in[i]);
    out[i] = table[sub_group_broadcast(at, i & 7)] + table[sub_group_reduce_max(at)];
}
