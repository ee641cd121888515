// Levels of detail, comparisons aside: OpenCL has none.
kernel void levels(read_only image2d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].xy, c[i].z);
}
kernel void gradients(read_only image2d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i].xy, (float2)(c[i].z, 0), (float2)(0, c[i].w));
}
kernel void count(read_only image2d_t a, global int *o) {
  o[0] = get_image_num_mip_levels(a);
}
kernel void level3(read_only image3d_t a, sampler_t s, global float4 *c, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(a, s, c[i], c[i].w);
}
