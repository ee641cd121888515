inline float square(global const float *p, int i) {
    return p[i] * p[i];
}

kernel void windows(global float *out, global const float *in, int n) {
    int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += square(in, i + k);
    out[i] = sum;
}
