// 3x3 convolution on a buffer; the edge is clamped.
kernel void convolve3x3(global const float *in, global float *out, constant float *weight,
                        int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += weight[(dy + 1) * 3 + dx + 1] *
                   in[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)];
    out[y * width + x] = sum;
}
