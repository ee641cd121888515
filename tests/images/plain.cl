// Images without a sampler: copies, facts, media blocks.
kernel void copy1(read_only image1d_t a, write_only image1d_t b) {
  int x = get_global_id(0);
  write_imagef(b, x, read_imagef(a, x));
}
kernel void copy2(read_only image2d_t a, write_only image2d_t b) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(b, p, read_imagef(a, p));
}
kernel void copy2i(read_only image2d_t a, write_only image2d_t b, int add) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagei(b, p, read_imagei(a, p) + add);
}
kernel void copy2u(read_only image2d_t a, write_only image2d_t b, uint add) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(b, p, read_imageui(a, p) + add);
}
kernel void copy3(read_only image3d_t a, write_only image3d_t b) {
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(b, p, read_imagef(a, p));
}
kernel void copy1a(read_only image1d_array_t a, write_only image1d_array_t b) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(b, p, read_imagef(a, p));
}
kernel void copy2a(read_only image2d_array_t a, write_only image2d_array_t b) {
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(b, p, read_imagef(a, p));
}
kernel void copyb(read_only image1d_buffer_t a, write_only image1d_buffer_t b) {
  int x = get_global_id(0);
  write_imagef(b, x, read_imagef(a, x));
}
kernel void facts(read_only image3d_t a, read_only image2d_array_t b, global int *o) {
  o[0] = get_image_width(a);
  o[1] = get_image_height(a);
  o[2] = get_image_depth(a);
  o[3] = get_image_array_size(b);
  o[4] = get_image_channel_order(a);
  o[5] = get_image_channel_data_type(a);
  o[6] = get_image_channel_order(b);
  o[7] = get_image_channel_data_type(b);
}
kernel void update(read_write image2d_t a) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(a, p, read_imageui(a, p) * 3u);
}
kernel void blocks(read_only image2d_t a, write_only image2d_t b, int x, int y) {
  uint4 v = intel_sub_group_block_read4(a, (int2)(x, y));
  intel_sub_group_block_write4(b, (int2)(0, 0), v);
}
