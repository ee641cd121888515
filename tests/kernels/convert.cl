// Conversions between element types; row r of each output is one conversion.
kernel void from_float(global const float *a, global int *to_int, global uint *to_uint,
                          global short *to_short, global uchar *to_uchar, global long *to_long) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float x = a[i];
    to_int[0 * n + i] = convert_int_sat(x);
    to_int[1 * n + i] = convert_int_sat_rte(x);
    to_int[2 * n + i] = convert_int_sat_rtp(x);
    to_int[3 * n + i] = convert_int_sat_rtn(x);
    to_uint[0 * n + i] = convert_uint_sat(x);
    to_uint[1 * n + i] = convert_uint_sat_rte(x);
    to_short[0 * n + i] = convert_short_sat(x);
    to_short[1 * n + i] = convert_short_sat_rte(x);
    to_uchar[0 * n + i] = convert_uchar_sat(x);
    to_uchar[1 * n + i] = convert_uchar_sat_rte(x);
    to_long[0 * n + i] = (long)clamp(x, -1e18f, 1e18f);
}

kernel void from_integer(global const int *a, global const long *b, global float *to_float,
                            global char *to_char, global ushort *to_ushort, global int *to_int,
                            global ulong *to_ulong) {
    size_t i = get_global_id(0), n = get_global_size(0);
    int x = a[i];
    long y = b[i];
    to_float[0 * n + i] = convert_float(x);
    to_float[1 * n + i] = convert_float((uint)x);
    to_float[2 * n + i] = convert_float(y);
    to_float[3 * n + i] = convert_float((short)x);
    to_float[4 * n + i] = convert_float((uchar)x);
    to_char[0 * n + i] = convert_char_sat(x);
    to_char[1 * n + i] = (char)y;
    to_ushort[0 * n + i] = convert_ushort_sat(x);
    to_ushort[1 * n + i] = (ushort)x;
    to_int[0 * n + i] = convert_int_sat(y);
    to_int[1 * n + i] = (int)y;
    to_ulong[0 * n + i] = x;
    to_ulong[1 * n + i] = (uint)x;
}
