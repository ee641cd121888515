// For comparing builds: one kernel whose result does not depend on the build, and one whose does.
kernel void sums(global const long *a, global const long *b, global long *c) {
    int i = get_global_id(0);
    local long shared_sums[32];
    long sum = 0;
    for (int k = 0; k < 5; k++)
        sum += a[(i * 7 + k) & 63] * 3 - (b[i] >> k);
    shared_sums[get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    c[i] = shared_sums[get_local_id(0) ^ 5];
}
kernel void widths(global const long *a, global const long *b, global long *c) {
    int i = get_global_id(0);
    long sum = get_max_sub_group_size();
    for (int k = 0; k < 8; k++)
        sum += a[(i + k) & 63] ^ b[(i * k) & 63];
    c[i] = sum;
}
