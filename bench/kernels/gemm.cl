// C = alpha * A * B + beta * C, one work-item per element, straight from global memory.
// A is ni x nk, B is nk x nj; global size (nj, ni).
kernel void gemm(global const float *a, global const float *b, global float *c, float alpha,
                 float beta, int nj, int nk) {
    int j = get_global_id(0), i = get_global_id(1);
    float sum = beta * c[i * nj + j];
    for (int k = 0; k < nk; k++)
        sum += alpha * a[i * nk + k] * b[k * nj + j];
    c[i * nj + j] = sum;
}
