// Every read_image with a sampler: the result of work item i at coordinate c[i].
kernel void f1(read_only image1d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].x);
}
kernel void f2(read_only image2d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].xy);
}
kernel void f3(read_only image3d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i]);
}
kernel void f1a(read_only image1d_array_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].xy);
}
kernel void f2a(read_only image2d_array_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i]);
}
kernel void i2(read_only image2d_t a, sampler_t s, global float4 *c, global int4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagei(a, s, c[i].xy);
}
kernel void u2(read_only image2d_t a, sampler_t s, global float4 *c, global uint4 *o) {
  int i = get_global_id(0);
  o[i] = read_imageui(a, s, c[i].xy);
}
kernel void f2i(read_only image2d_t a, sampler_t s, global int4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].xy);
}
constant sampler_t S0 = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
constant sampler_t S1 = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_NEAREST;
constant sampler_t S2 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
constant sampler_t S3 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
constant sampler_t S4 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
kernel void inlined(read_only image2d_t a, global float4 *c, global float4 *o) {
  int i = get_global_id(0), n = get_global_size(0);
  o[i] = read_imagef(a, S0, c[i].xy);
  o[n + i] = read_imagef(a, S1, c[i].xy);
  o[2 * n + i] = read_imagef(a, S2, c[i].zw);
  o[3 * n + i] = read_imagef(a, S3, c[i].zw);
  o[4 * n + i] = read_imagef(a, S4, (int2)(i % 4, i % 3));
}
