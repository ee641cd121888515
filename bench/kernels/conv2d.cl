// 3x3 convolution with constant weights on the inside of a square image; the rim is left alone.
kernel void conv2d(global const float *in, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    global const float *p = in + y * n + x;
    out[y * n + x] = 0.2f * p[-n - 1] - 0.3f * p[-n] + 0.4f * p[-n + 1] +
                     0.5f * p[-1] + 0.6f * p[0] + 0.7f * p[1] -
                     0.8f * p[n - 1] - 0.9f * p[n] + 0.1f * p[n + 1];
}
