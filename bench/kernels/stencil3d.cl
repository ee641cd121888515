// Seven points; a work-item goes through the planes and keeps what is above and below.
kernel void stencil3d(global const float *x, global float *y, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    if (i == 0 || j == 0 || i == n - 1 || j == n - 1)
        return;
    int plane = n * n, at = j * n + i;
    float below = x[at], here = x[at + plane];
    for (int k = 1; k < n - 1; k++) {
        at += plane;
        float above = x[at + plane];
        float around = x[at - 1] + x[at + 1] + x[at - n] + x[at + n];
        y[at] = 0.4f * here + 0.1f * (around + below + above);
        below = here;
        here = above;
    }
}
