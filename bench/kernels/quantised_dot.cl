// Four products of bytes and their sum at once: a matrix of 8-bit weights times a vector, with a
// scale for each block of 32 weights, as quantised networks keep them.
#ifdef __opencl_c_integer_dot_product_input_4x8bit_packed
#define DOT(x, y) dot_4x8packed_ss_int(x, y)
#else
int four(uint x, uint y) {
    char4 a = as_char4(x), b = as_char4(y);
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
#define DOT(x, y) four(x, y)
#endif

kernel void quantised_dot(global const uint *weights, global const float *scales,
                          global const uint *x, global float *y, int blocks) {
    int row = get_global_id(0), rows = get_global_size(0);
    float sum = 0;
    for (int b = 0; b < blocks; b++) {
        int part = 0;
#pragma unroll
        for (int k = 0; k < 8; k++)
            part += DOT(weights[(b * 8 + k) * rows + row], x[b * 8 + k]);
        sum += scales[b * rows + row] * part;
    }
    y[row] = sum;
}
