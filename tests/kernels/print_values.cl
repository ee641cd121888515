// printf from a few work-items; the order of the lines between threads is not defined.
kernel void print_values(global const float *x, int n) {
    int i = get_global_id(0);
    if (i < n)
        printf("item %d of %s: %.3f %x %c\n", i, "x", x[i], i * 17, 'a' + i);
}

kernel void print_wide(long big, float4 v) {
    if (get_global_id(0) == 0) {
        printf("no argument\n");
        printf("%ld %5d|%-5d|%05d %u\n", big, 42, 42, 42, 7u);
        printf("%.1v4hlf 100%%\n", v);
    }
}
