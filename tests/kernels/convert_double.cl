// Conversions from and to double.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void from_double(global const double *a, global const int *b, global const long *c,
                           global float *to_float, global int *to_int, global long *to_long,
                           global double *to_double) {
    size_t i = get_global_id(0), n = get_global_size(0);
    double x = a[i];
    to_float[0 * n + i] = (float)x;
    to_int[0 * n + i] = convert_int_sat(x);
    to_int[1 * n + i] = convert_int_sat_rte(x);
    to_long[0 * n + i] = convert_long(x * 1e3);
    to_double[0 * n + i] = b[i];
    to_double[1 * n + i] = (uint)b[i];
    to_double[2 * n + i] = c[i];
    to_double[3 * n + i] = (float)x;
}
