// Half as a storage format: no cl_khr_fp16 is needed.
kernel void half_storage(global const float *a, global const half *h, global half *to_half,
                         global float *to_float) {
    size_t i = get_global_id(0), n = get_global_size(0);
    vstore_half(a[i], 0 * n + i, to_half);
    vstore_half_rtz(a[i], 1 * n + i, to_half);
    vstore_half_rtp(a[i], 2 * n + i, to_half);
    vstore_half_rtn(a[i], 3 * n + i, to_half);
    to_float[i] = vload_half(i, h);
}
