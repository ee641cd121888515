// Row r of `out` (n elements each) is one operation on a[i], b[i], c[i].
// Compiled once for each integer type T.
kernel void integer_arithmetic(global const T *a, global const T *b, global const T *c,
                               global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i], z = c[i];
    out[0 * n + i] = x + y;
    out[1 * n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = x * y + z;
    out[4 * n + i] = -x;
    out[5 * n + i] = min(x, y);
    out[6 * n + i] = max(x, y);
    out[7 * n + i] = x < y ? z : x;
    out[8 * n + i] = (x == y) + 2 * (x <= z);
    out[9 * n + i] = clamp(x, min(y, z), max(y, z));
}

kernel void integer_division(global const T *a, global const T *b, global const T *c,
                             global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i] ? b[i] : (T)1;
    out[0 * n + i] = x / y;
    out[1 * n + i] = x % y;
    out[2 * n + i] = x / (T)10;
    out[3 * n + i] = x % (T)7;
}

kernel void integer_bits(global const T *a, global const T *b, global const T *c, global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i], z = c[i];
    T shift = y & (T)(8 * sizeof(T) - 1);
    out[0 * n + i] = x & y;
    out[1 * n + i] = x | y;
    out[2 * n + i] = x ^ y;
    out[3 * n + i] = ~x;
    out[4 * n + i] = x << shift;
    out[5 * n + i] = x >> shift;
    out[6 * n + i] = rotate(x, y);
    out[7 * n + i] = clz(x);
    out[8 * n + i] = popcount(x);
    out[9 * n + i] = bitselect(x, y, z);
    out[10 * n + i] = (x & y) | (~x & z);
    out[11 * n + i] = x << 3;
}

kernel void integer_saturation(global const T *a, global const T *b, global const T *c,
                               global T *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    T x = a[i], y = b[i], z = c[i];
    out[0 * n + i] = add_sat(x, y);
    out[1 * n + i] = sub_sat(x, y);
    out[2 * n + i] = abs(x);
    out[3 * n + i] = abs_diff(x, y);
    out[4 * n + i] = hadd(x, y);
    out[5 * n + i] = rhadd(x, y);
    out[6 * n + i] = mul_hi(x, y);
    out[7 * n + i] = mad_sat(x, y, z);
}
