// devices: pvc skl apl
// options: -cl-std=CL2.0
kernel void vectors(global const uchar *a, global uchar *b, global const float *f, global float *g,
                    global const ushort3 *s, global ushort3 *t, global const long4 *l,
                    global long4 *m, constant int *c) {
  int i = get_global_id(0);
  vstore16(vload16(i, a).sfedcba9876543210, i, b);
  vstore3(vload3(i, f).zyx, i, g);
  t[i] = s[i + 1];
  m[i] = l[i + 1] + (long4)(c[i & 15]);
}
kernel void large_vectors(global const int16 *q, global int16 *r, global const double *d,
                          global double2 *e) {
  int i = get_global_id(0);
  r[i] = q[i + 1] * 3;
  e[i] = (double2)(d[i] * 2.0, d[i + 1]);
}
constant int table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
global int counter = 5;
kernel void program_memory(global int *a) {
  int i = get_global_id(0);
  a[i] = table[a[i] & 15] + counter;
}
