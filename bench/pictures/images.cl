// What bench/images.py runs beside examples/picture.cl: one work item makes one pixel.
static float2 middle(int2 p, write_only image2d_t out) {
  return (convert_float2(p) + 0.5f) / (float2)(get_image_width(out), get_image_height(out));
}
kernel void copy(read_only image2d_t in, write_only image2d_t out) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, p, read_imagef(in, p));
}
kernel void volume(read_only image3d_t in, sampler_t s, write_only image2d_t out) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  float2 at = middle(p, out);
  float4 sum = 0;
  for (int k = 0; k < 8; k++)
    sum += read_imagef(in, s, (float4)(at, (k + 0.25f) / 8, 0));
  write_imagef(out, p, sum / 8);
}
kernel void layers(read_only image2d_array_t in, sampler_t s, write_only image2d_t out) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  float2 at = middle(p, out);
  float4 sum = 0;
  for (int k = 0; k < 8; k++)
    sum += read_imagef(in, s, (float4)(at, k, 0));
  write_imagef(out, p, sum / 8);
}
