// Row r of `out` (n elements each) is one function, in OpenCL's default precision.
kernel void math_functions(global const float *a, global const float *b, global float *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float x = a[i], y = b[i];
    out[0 * n + i] = exp(x);
    out[1 * n + i] = exp2(x);
    out[2 * n + i] = log(y);
    out[3 * n + i] = log2(y);
    out[4 * n + i] = sqrt(y);
    out[5 * n + i] = rsqrt(y);
    out[6 * n + i] = pow(y, x);
    out[7 * n + i] = tanh(x);
    out[8 * n + i] = atan2(x, y);
    out[9 * n + i] = fmod(x, y);
    out[10 * n + i] = hypot(x, y);
}

kernel void trigonometry(global const float *a, global float *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    out[0 * n + i] = sin(a[i]);
    out[1 * n + i] = cos(a[i]);
}

// The hardware's own approximations; a is in [-3, 3], b is positive.
kernel void native_functions(global const float *a, global const float *b, global float *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float x = a[i], y = b[i];
    out[0 * n + i] = native_sin(x);
    out[1 * n + i] = native_cos(x);
    out[2 * n + i] = native_exp2(x);
    out[3 * n + i] = native_log2(y);
    out[4 * n + i] = native_sqrt(y);
    out[5 * n + i] = native_rsqrt(y);
    out[6 * n + i] = native_recip(y);
    out[7 * n + i] = native_divide(x, y);
    out[8 * n + i] = native_powr(y, x);
}
