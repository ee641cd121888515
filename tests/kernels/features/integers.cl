// devices: pvc skl apl
// options: -cl-std=CL2.0
// Integer functions of OpenCL C, one row of results each.
#define ROW(k, x) out[(k) * n + i] = (x)
kernel void of_int(global const int *a, global const int *b, global int *out) {
  int i = get_global_id(0), n = get_global_size(0), x = a[i], y = b[i];
  ROW(0, clz(x)); ROW(1, popcount(x)); ROW(2, mul_hi(x, y)); ROW(3, mad_hi(x, y, 4));
  ROW(4, mul24(x >> 8, y >> 8)); ROW(5, rotate(x, y)); ROW(6, add_sat(x, y));
  ROW(7, sub_sat(x, y)); ROW(8, (int)abs_diff(x, y)); ROW(9, hadd(x, y)); ROW(10, rhadd(x, y));
  ROW(11, x / (y | 1)); ROW(12, x % (y | 1)); ROW(13, x >> (y & 31)); ROW(14, mad_sat(x, y, 7));
  ROW(15, clamp(x, -4, 100)); ROW(16, bitselect(x, y, 0x0ff00ff0)); ROW(17, ctz(x));
}
kernel void of_uint(global const uint *a, global const uint *b, global uint *out) {
  int i = get_global_id(0), n = get_global_size(0);
  uint x = a[i], y = b[i];
  ROW(0, mul_hi(x, y)); ROW(1, x / (y | 1)); ROW(2, x % (y | 1)); ROW(3, add_sat(x, y));
  ROW(4, upsample((ushort)x, (ushort)y)); ROW(5, x / 7); ROW(6, x % 10); ROW(7, sub_sat(x, y));
  ROW(8, rhadd(x, y)); ROW(9, abs_diff(x, y));
}
kernel void of_long(global const long *a, global const long *b, global long *out) {
  int i = get_global_id(0), n = get_global_size(0);
  long x = a[i], y = b[i];
  ROW(0, x * y); ROW(1, x / (y | 1)); ROW(2, x % (y | 1)); ROW(3, x >> (y & 63));
  ROW(4, mul_hi(x, y)); ROW(5, min(x, y)); ROW(6, clz(x)); ROW(7, popcount(x));
  ROW(8, rotate(x, y)); ROW(9, (long)((ulong)x / ((ulong)y | 1))); ROW(10, x << (y & 63));
}
kernel void of_bytes(global const uchar16 *a, global const uchar16 *b, global uchar16 *out) {
  int i = get_global_id(0), n = get_global_size(0);
  uchar16 x = a[i], y = b[i];
  ROW(0, shuffle(x, y)); ROW(1, rhadd(x, y)); ROW(2, add_sat(x, y)); ROW(3, x * y);
  ROW(4, convert_uchar16_sat(convert_short16(x) * (short)3 - (short)100)); ROW(5, max(x, y));
}
