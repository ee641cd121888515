// D = (alpha * A * B) * C + beta * D in two launches of naive products.
kernel void first(global const float *a, global const float *b, global float *t, float alpha,
                  int n) {
    int j = get_global_id(0), i = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += alpha * a[i * n + k] * b[k * n + j];
    t[i * n + j] = sum;
}

kernel void second(global const float *t, global const float *c, global float *d, float beta,
                   int n) {
    int j = get_global_id(0), i = get_global_id(1);
    float sum = beta * d[i * n + j];
    for (int k = 0; k < n; k++)
        sum += t[i * n + k] * c[k * n + j];
    d[i * n + j] = sum;
}
