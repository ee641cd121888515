// `out` is used as a surface and by its address; `table` as a surface only.
kernel void mixed(global int *out, constant int *table) {
    int i = get_global_id(0);
    out[i] = table[i & 3];
    if (i == 0) atomic_add(out, 1);
}
