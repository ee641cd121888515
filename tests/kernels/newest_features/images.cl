// Images, samplers as arguments and in the source: all bindless by the newest compiler.

kernel void plain(read_only image2d_t image, global float4 *out) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  out[p.y * 4 + p.x] = read_imagef(image, p);
}

kernel void inside(read_only image2d_t image, global float4 *out) {
  const sampler_t s =
      CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_LINEAR | CLK_ADDRESS_CLAMP_TO_EDGE;
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  out[p.y * 4 + p.x] = read_imagef(image, s, convert_float2(p) + (float2)(0.75f, 1.0f));
}

kernel void given(read_only image2d_t image, sampler_t s, sampler_t edge, global float4 *out) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  out[p.y * 4 + p.x] = read_imagef(image, s, convert_float2(p) + (float2)(0.75f, 1.0f));
  out[16 + p.y * 4 + p.x] = read_imagef(image, edge, convert_float2(p) - 0.5f);
}

kernel void written(write_only image2d_t image) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(image, p, (float4)(p.x, p.y, 1, get_image_width(image)));
}

kernel void layers(read_only image3d_t deep, read_only image2d_array_t flat, global float4 *out) {
  int x = get_global_id(0);
  out[x] = read_imagef(deep, (int4)(x, 1, 0, 0)) + 2 * read_imagef(flat, (int4)(x, 1, 1, 0));
}
