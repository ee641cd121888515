// devices: skl apl
// internal options: -cl-intel-use-bindless-mode
// Buffers that are found by a handle in the thread's payload.  The atomic operations never run; without
// them the compiler declares an address where its code takes a handle.

__kernel void bindless_dwords(__global int *x, __global int *y, int n) {
    int i = get_global_id(0);
    if (i < n) x[i] = y[n - 1 - i] * 3;
    if (n < 0) {
        atomic_inc(x);
        atomic_inc(y);
    }
}

__kernel void bindless_bytes(__global uchar *x, __global uchar *y, int n) {
    int i = get_global_id(0);
    vstore4(vload4(i, y) + (uchar4)(1, 2, 3, 4), i, x);
    if (i == 5) x[n] = y[7];
    if (n < 0) {
        atomic_inc((__global int *)x);
        atomic_inc((__global int *)y);
    }
}
