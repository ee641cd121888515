// Escape-time iteration counts; the loop ends at another iteration in every lane.
// Without contraction the counts are exact.
#pragma OPENCL FP_CONTRACT OFF

kernel void mandelbrot(global int *count, float x0, float y0, float step, int limit) {
    int column = get_global_id(0), row = get_global_id(1);
    float cx = x0 + column * step, cy = y0 + row * step;
    float x = 0.0f, y = 0.0f;
    int i = 0;
    while (i < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        i++;
    }
    count[row * get_global_size(0) + column] = i;
}
