// Two-dimensional blocks by the builtins of newer compilers.
#pragma OPENCL EXTENSION cl_intel_subgroup_2d_block_io : enable

__attribute__((intel_reqd_sub_group_size(16))) kernel void
read_blocks(global uchar *in, global uint *out, int width, int height, int pitch, int x, int y) {
  const int lane = get_sub_group_local_id();
  uint plain[8], transformed[8], transposed[8];
  ushort pair[16];
  intel_sub_group_2d_block_read_32b_8r16x1c(in, width, height, pitch, (int2)(x, y), plain);
  intel_sub_group_2d_block_read_16b_8r16x2c(in, width, height, pitch, (int2)(x, y), pair);
  intel_sub_group_2d_block_read_transform_16b_16r16x1c(in, width, height, pitch, (int2)(x, y),
                                                       transformed);
  intel_sub_group_2d_block_read_transpose_32b_16r8x1c(in, width, height, pitch, (int2)(x, y),
                                                      transposed);
  for (int i = 0; i < 8; i++) {
    out[16 * i + lane] = plain[i];
    out[128 + 16 * i + lane] = transformed[i];
    out[256 + 16 * i + lane] = transposed[i];
  }
  for (int i = 0; i < 16; i++)
    out[384 + 16 * i + lane] = pair[i];
}

__attribute__((intel_reqd_sub_group_size(16))) kernel void
write_block(global uchar *out, int width, int height, int pitch, int x, int y) {
  uint rows[8];
  for (int i = 0; i < 8; i++)
    rows[i] = 100 * i + get_sub_group_local_id() + 1;
  intel_sub_group_2d_block_write_32b_8r16x1c(out, width, height, pitch, (int2)(x, y), rows);
}
