// Row r of `out` (n elements each) is one operation on a[i], b[i], c[i].
// Compiled once for each floating-point type T (half, float, double) with INT of its size.
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

kernel void float_arithmetic(global const T *a, global const T *b, global const T *c,
                             global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i], z = c[i];
    out[0 * n + i] = x + y;
    out[1 * n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = fma(x, y, z);
    out[4 * n + i] = -x;
    out[5 * n + i] = fabs(x);
    out[6 * n + i] = fmin(x, y);
    out[7 * n + i] = fmax(x, y);
    out[8 * n + i] = x < y ? z : x;
    out[9 * n + i] = copysign(x, y);
}

kernel void float_division(global const T *a, global const T *b, global const T *c,
                           global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i];
    out[0 * n + i] = x / y;
    out[1 * n + i] = sqrt(fabs(x));
    out[2 * n + i] = (T)1 / x;
}

kernel void float_rounding(global const T *a, global const T *b, global const T *c,
                           global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i];
    out[0 * n + i] = floor(x);
    out[1 * n + i] = ceil(x);
    out[2 * n + i] = trunc(x);
    out[3 * n + i] = rint(x);
    out[4 * n + i] = round(x);
    out[5 * n + i] = x - floor(x);
}

kernel void float_comparison(global const T *a, global const T *b, global INT *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i];
    out[0 * n + i] = x < y;
    out[1 * n + i] = x <= y;
    out[2 * n + i] = x > y;
    out[3 * n + i] = x >= y;
    out[4 * n + i] = x == y;
    out[5 * n + i] = x != y;
    out[6 * n + i] = isnan(x);
    out[7 * n + i] = isinf(x);
    out[8 * n + i] = signbit(x) != 0;
    out[9 * n + i] = !(x < y);
}
