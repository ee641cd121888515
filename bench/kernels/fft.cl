// 1024 points a group, radix 4 after Stockham: five passes between two halves of local memory.
#define POINTS 1024
#define ITEMS (POINTS / 4)

float2 times(float2 a, float2 b) {
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

kernel void fft(global const float2 *x, global float2 *y, global const float2 *roots) {
    local float2 data[2 * POINTS];
    int l = get_local_id(0), first = get_group_id(0) * POINTS;
    for (int k = 0; k < 4; k++)
        data[k * ITEMS + l] = x[first + k * ITEMS + l];
    local float2 *from = data, *to = data + POINTS;
    for (int done = 1; done < POINTS; done *= 4) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int k = l & done - 1, turn = k * (ITEMS / done);
        float2 a = from[l];
        float2 b = times(from[l + ITEMS], roots[turn]);
        float2 c = times(from[l + 2 * ITEMS], roots[2 * turn]);
        float2 d = times(from[l + 3 * ITEMS], roots[3 * turn]);
        float2 s = a + c, t = a - c, u = b + d, v = b - d;
        float2 w = (float2)(v.y, -v.x);
        int place = (l - k) * 4 + k;
        to[place] = s + u;
        to[place + done] = t + w;
        to[place + 2 * done] = s - u;
        to[place + 3 * done] = t - w;
        local float2 *other = from;
        from = to;
        to = other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; k++)
        y[first + k * ITEMS + l] = from[k * ITEMS + l];
}
