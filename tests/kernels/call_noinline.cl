// Functions that stay functions: one called from two places, one that calls another, one in a branch.
__attribute__((noinline)) float horner(float x, float b, global const float *p, int n) {
    for (int i = 0; i < n; i++)
        x = x * b + p[i];
    return x;
}

__attribute__((noinline)) float nested(float x, global const float *p, int n) {
    if (x <= 0.0f)
        return -x;
    return horner(x, 0.5f, p, n) + x;
}

kernel void call_noinline(global const float *in, global const float *p, global float *out, int n) {
    int i = get_global_id(0);
    float x = in[i], r = nested(x, p, n);
    if (x < 1.0f)
        r += horner(x, 0.25f, p, n / 2);
    out[i] = r;
}
