// y = A^T (A x): one row per work-item (strided over memory), then one column per work-item.
kernel void rows(global const float *a, global const float *x, global float *t, int n) {
    int i = get_global_id(0);
    float sum = 0.0f;
    for (int j = 0; j < n; j++)
        sum += a[i * n + j] * x[j];
    t[i] = sum;
}

kernel void columns(global const float *a, global const float *t, global float *y, int n) {
    int j = get_global_id(0);
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += a[i * n + j] * t[i];
    y[j] = sum;
}
