// Finite differences in time for two electric fields and a magnetic one; `source` feeds row 0.
kernel void electric_y(global const float *source, global float *ey, global const float *hz,
                       int t, int n) {
    int j = get_global_id(0), i = get_global_id(1);
    if (i == 0)
        ey[j] = source[t];
    else
        ey[i * n + j] -= 0.5f * (hz[i * n + j] - hz[(i - 1) * n + j]);
}

kernel void electric_x(global float *ex, global const float *hz, int n) {
    int j = get_global_id(0), i = get_global_id(1);
    if (j > 0)
        ex[i * n + j] -= 0.5f * (hz[i * n + j] - hz[i * n + j - 1]);
}

kernel void magnetic(global const float *ex, global const float *ey, global float *hz, int n) {
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n - 1 && j < n - 1)
        hz[i * n + j] -= 0.7f * (ex[i * n + j + 1] - ex[i * n + j] + ey[(i + 1) * n + j] -
                                 ey[i * n + j]);
}
