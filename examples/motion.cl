// Where each 16x16 block of a picture comes from in the picture before: four vectors a block, one
// for each quarter, in quarters of a pixel.  One work group of 16 per block.
__attribute__((reqd_work_group_size(16, 1, 1)))
kernel void motion(read_only image2d_t now, read_only image2d_t before, global short2 *vectors)
{
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  ushort2 place = (ushort2)(get_group_id(0) * 16, get_group_id(1) * 16);
  intel_sub_group_avc_ime_payload_t search = intel_sub_group_avc_ime_initialize(
      place, CLK_AVC_ME_PARTITION_MASK_8x8_INTEL, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  search = intel_sub_group_avc_ime_set_single_reference(
      (short2)(0, 0), CLK_AVC_ME_SEARCH_WINDOW_EXHAUSTIVE_INTEL, search);
  intel_sub_group_avc_ime_result_t whole =
      intel_sub_group_avc_ime_evaluate_with_single_reference(now, before, vme, search);
  ulong found = intel_sub_group_avc_ime_get_motion_vectors(whole);
  intel_sub_group_avc_ref_payload_t parts = intel_sub_group_avc_fme_initialize(
      place, found, intel_sub_group_avc_ime_get_inter_major_shape(whole),
      intel_sub_group_avc_ime_get_inter_minor_shapes(whole),
      intel_sub_group_avc_ime_get_inter_directions(whole),
      CLK_AVC_ME_SUBPIXEL_MODE_QPEL_INTEL, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  intel_sub_group_avc_ref_result_t fine =
      intel_sub_group_avc_ref_evaluate_with_single_reference(now, before, vme, parts);
  uint block = get_group_id(0) + get_num_groups(0) * get_group_id(1);
  uint lane = get_sub_group_local_id();
  if (lane % 4 == 0)
    vectors[4 * block + lane / 4] = as_short4(intel_sub_group_avc_ref_get_motion_vectors(fine)).xy;
}
