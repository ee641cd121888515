// Never ends unless someone else sets the flag; the volatile load keeps the loop.
kernel void endless(volatile global const int *flag, global int *out) {
    int turns = 0;
    while (*flag == 0)
        turns++;
    out[get_global_id(0)] = turns;
}
