// Filters are approximate, texels that are loaded are exact.

kernel void sampled(global int *out, read_only image2d_t picture, global const int *table) {
    const sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
    int i = get_global_id(0);
    float4 texel = read_imagef(picture, linear, (float2)(i * 0.3f, 0.5f));
    out[i] = table[(int)texel.x];
}

kernel void fetched(global int *out, read_only image2d_t picture, global const int *table) {
    int i = get_global_id(0);
    out[i] = table[(int)read_imagef(picture, (int2)(i, 0)).x];
}

kernel void at_a_root(global float *out, read_only image2d_t picture, global const float *in) {
    const sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
    int i = get_global_id(0);
    out[i] = read_imagef(picture, linear, (float2)(native_sqrt(in[i]), 0.5f)).x;
}
