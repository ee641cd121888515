// Each sub-group copies eight rows with one block read and one block write.
__attribute__((intel_reqd_sub_group_size(16)))
kernel void blocks(read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)(get_group_id(0) * 64, get_group_id(1) * 8);
  intel_sub_group_block_write8(out, at, intel_sub_group_block_read8(in, at));
}
