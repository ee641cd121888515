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

// Addresses of blocks in one register, as libraries of matrix products use them.
enum LSC_LDCC { LSC_LDCC_DEFAULT };
int *__builtin_IB_subgroup_createBlock2DAddressPayload(long base, int width_less_1,
                                                       int height_less_1, int pitch_less_1, int x,
                                                       int y, int width, int height, int blocks);
void __builtin_IB_subgroup_addBlock2DAddressPayloadBlockX(int *address, int x);
short8 __builtin_IB_subgroup_block_read_ap_u16_m8k16v1(int *address, const int x, const int y,
                                                       enum LSC_LDCC caching);
void __builtin_IB_subgroup_block_write_ap_u16_m8k16v1(int *address, const int x, const int y,
                                                      short8 data, enum LSC_LDCC caching);

__attribute__((intel_reqd_sub_group_size(16))) kernel void
blocks_by_payload(global short *in, global short *out, int width, int height, int pitch, int x,
                  int y) {
  int *from = __builtin_IB_subgroup_createBlock2DAddressPayload((long)in, width - 1, height - 1,
                                                                pitch - 1, x, y, 16, 8, 1);
  int *to = __builtin_IB_subgroup_createBlock2DAddressPayload((long)out, width - 1, height - 1,
                                                              pitch - 1, x, y, 16, 8, 1);
  short8 here = __builtin_IB_subgroup_block_read_ap_u16_m8k16v1(from, 0, 0, 0);
  short8 near = __builtin_IB_subgroup_block_read_ap_u16_m8k16v1(from, 1, 2, 0);
  __builtin_IB_subgroup_addBlock2DAddressPayloadBlockX(from, 3);
  short8 right = __builtin_IB_subgroup_block_read_ap_u16_m8k16v1(from, 0, 0, 0);
  __builtin_IB_subgroup_block_write_ap_u16_m8k16v1(to, 0, 0, here * (short)3 + near * (short)5 + right,
                                                   0);
}
