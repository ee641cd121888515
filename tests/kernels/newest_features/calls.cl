// Functions that are called over the stack read sizes and ids in memory, and print by themselves.
__attribute__((noinline)) ulong facts(int n) {
    if (n < 2)
        return get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2) + 1000 * get_global_offset(0) +
               10000 * get_work_dim() + 7 * get_group_id(1) + 100000 * get_num_groups(1) +
               1000000 * get_enqueued_local_size(1) + 5 * get_local_size(2) + 11 * get_global_size(1);
    if (n == 7) printf("%d %d\n", (int)get_local_id(0), (int)get_group_id(0));
    return facts(n - 1) ^ facts(n - 2) * 3;
}
kernel void recursive(global ulong *out) {
    int i = get_global_linear_id();
    out[i] = facts(i & 7);
}
