// Blurs a picture with nine filtered samples and writes it in another size.
kernel void blur(read_only image2d_t in, sampler_t s, write_only image2d_t out, float radius)
{
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  float2 size = (float2)(get_image_width(out), get_image_height(out));
  if (p.x >= (int)size.x || p.y >= (int)size.y)
    return;
  float2 at = (convert_float2(p) + 0.5f) / size;
  float2 step = radius / (float2)(get_image_width(in), get_image_height(in));
  float4 sum = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++)
      sum += (2 - abs(x)) * (2 - abs(y)) * read_imagef(in, s, at + step * (float2)(x, y));
  write_imagef(out, p, sum / 16);
}
