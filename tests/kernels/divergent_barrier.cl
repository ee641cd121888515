// Only work-items below n reach the barrier: undefined in OpenCL, a hang on hardware.
kernel void divergent_barrier(global int *out, int n) {
    local int t[256];
    int l = get_local_id(0);
    t[l] = l;
    if (l < n) {
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = t[n - 1 - l];
    }
}
