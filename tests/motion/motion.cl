// Motion estimation: one macroblock a work group.  Each group writes 64 words of results:
// 0 forward vectors, 16 backward vectors, 32 distortions of the sixteen blocks, 48 the rest.

#define MACROBLOCK (ushort2)(get_group_id(0) * 16, get_group_id(1) * 16)
#define GROUP (64 * (get_group_id(0) + get_group_id(1) * get_num_groups(0)))
#define ONE_GROUP __attribute__((reqd_work_group_size(16, 1, 1)))

void store(__global uint *out, ulong vectors, ushort distortion) {
  uint lane = get_sub_group_local_id();
  out[lane] = (uint)vectors;
  out[16 + lane] = (uint)(vectors >> 32);
  out[32 + lane] = distortion;
}

void store_search(__global uint *out, intel_sub_group_avc_ime_result_t r) {
  store(out, intel_sub_group_avc_ime_get_motion_vectors(r),
        intel_sub_group_avc_ime_get_inter_distortions(r));
  out[48] = intel_sub_group_avc_ime_get_best_inter_distortion(r);
  out[49] = intel_sub_group_avc_ime_get_inter_major_shape(r);
  out[50] = intel_sub_group_avc_ime_get_inter_minor_shapes(r);
  out[51] = intel_sub_group_avc_ime_get_inter_directions(r);
  out[52] = intel_sub_group_avc_ime_get_inter_motion_vector_count(r);
  out[53] = intel_sub_group_avc_ime_get_inter_reference_ids(r);
  out[54] = intel_sub_group_avc_ime_get_border_reached(CLK_AVC_ME_FRAME_FORWARD_INTEL, r);
  out[55] = intel_sub_group_avc_ime_get_border_reached(CLK_AVC_ME_FRAME_BACKWARD_INTEL, r);
  out[56] = intel_sub_group_avc_ime_get_truncated_search_indication(r);
  out[57] = intel_sub_group_avc_ime_get_unidirectional_early_search_termination(r);
}

// The window must be a constant: a kernel for each.
#define SEARCH(name, window)                                                                     \
  __kernel ONE_GROUP void name(read_only image2d_t src, read_only image2d_t ref,                 \
                               __global uint *out, short2 offset, uchar mask, uchar sad,         \
                               uchar most, uchar early) {                                        \
    sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;                                                 \
    intel_sub_group_avc_ime_payload_t p =                                                        \
        intel_sub_group_avc_ime_initialize(MACROBLOCK, mask, sad);                               \
    p = intel_sub_group_avc_ime_set_single_reference(offset, window, p);                         \
    p = intel_sub_group_avc_ime_set_max_motion_vector_count(most, p);                            \
    if (early)                                                                                   \
      p = intel_sub_group_avc_ime_set_early_search_termination_threshold(early, p);              \
    store_search(out + GROUP,                                                                    \
                 intel_sub_group_avc_ime_evaluate_with_single_reference(src, ref, vme, p));      \
  }
SEARCH(exhaustive, CLK_AVC_ME_SEARCH_WINDOW_EXHAUSTIVE_INTEL)
SEARCH(small, CLK_AVC_ME_SEARCH_WINDOW_SMALL_INTEL)
SEARCH(diamond, CLK_AVC_ME_SEARCH_WINDOW_DIAMOND_INTEL)

// Costs: a centre for each quarter, from the first four work items.
#define COSTS(name, precision)                                                                   \
  __kernel ONE_GROUP void name(read_only image2d_t src, read_only image2d_t ref,                 \
                               __global uint *out, __global const uint *centers, uint2 table,    \
                               ulong shapes) {                                                   \
    sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;                                                 \
    intel_sub_group_avc_ime_payload_t p = intel_sub_group_avc_ime_initialize(                    \
        MACROBLOCK, CLK_AVC_ME_PARTITION_MASK_ALL_INTEL, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL); \
    p = intel_sub_group_avc_ime_set_single_reference(                                            \
        (short2)(0, 0), CLK_AVC_ME_SEARCH_WINDOW_SMALL_INTEL, p);                                \
    ulong center = centers[get_sub_group_local_id() & 3];                                        \
    p = intel_sub_group_avc_ime_set_motion_vector_cost_function(center, table, precision, p);    \
    p = intel_sub_group_avc_ime_set_inter_shape_penalty(shapes, p);                              \
    store_search(out + GROUP,                                                                    \
                 intel_sub_group_avc_ime_evaluate_with_single_reference(src, ref, vme, p));      \
  }
COSTS(costs_qpel, CLK_AVC_ME_COST_PRECISION_QPEL_INTEL)
COSTS(costs_pel, CLK_AVC_ME_COST_PRECISION_PEL_INTEL)

__kernel ONE_GROUP void two_references(read_only image2d_t src, read_only image2d_t fwd,
                                       read_only image2d_t bwd, __global uint *out,
                                       uchar direction, uchar mix) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  intel_sub_group_avc_ime_payload_t p = intel_sub_group_avc_ime_initialize(
      MACROBLOCK, CLK_AVC_ME_PARTITION_MASK_ALL_INTEL, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  p = intel_sub_group_avc_ime_set_dual_reference((short2)(1, -2), (short2)(-3, 2),
                                                 CLK_AVC_ME_SEARCH_WINDOW_EXHAUSTIVE_INTEL, p);
  p = intel_sub_group_avc_ime_set_inter_direction_penalty(direction, p);
  if (!mix)
    p = intel_sub_group_avc_ime_set_unidirectional_mix_disable(p);
  store_search(out + GROUP,
               intel_sub_group_avc_ime_evaluate_with_dual_reference(src, fwd, bwd, vme, p));
}

// A search of two references one after the other: the second goes on where the first ended.
__kernel ONE_GROUP void streams(read_only image2d_t src, read_only image2d_t fwd0,
                                read_only image2d_t bwd0, read_only image2d_t fwd1,
                                read_only image2d_t bwd1, __global uint *out, uchar penalty) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  uint lane = get_sub_group_local_id();
  uchar mask = CLK_AVC_ME_PARTITION_MASK_16x16_INTEL & CLK_AVC_ME_PARTITION_MASK_16x8_INTEL &
               CLK_AVC_ME_PARTITION_MASK_8x16_INTEL & CLK_AVC_ME_PARTITION_MASK_8x8_INTEL;
  intel_sub_group_avc_ime_payload_t p = intel_sub_group_avc_ime_initialize(
      MACROBLOCK, mask, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  p = intel_sub_group_avc_ime_set_single_reference((short2)(0, 0),
                                                   CLK_AVC_ME_SEARCH_WINDOW_SMALL_INTEL, p);
  p = intel_sub_group_avc_ime_set_inter_base_multi_reference_penalty(penalty, p);
  intel_sub_group_avc_ime_result_single_reference_streamout_t first =
      intel_sub_group_avc_ime_evaluate_with_single_reference_streamout(src, fwd0, vme, p);
  intel_sub_group_avc_ime_result_single_reference_streamout_t both =
      intel_sub_group_avc_ime_evaluate_with_single_reference_streaminout(
          src, fwd1, vme, p, intel_sub_group_avc_ime_get_single_reference_streamin(first));
  store_search(out + GROUP, intel_sub_group_avc_ime_strip_single_reference_streamout(both));
  uint group = 4096 + GROUP;
  out[group + lane] = intel_sub_group_avc_ime_get_streamout_major_shape_motion_vectors(
      both, CLK_AVC_ME_MAJOR_8x8_INTEL);
  out[group + 16 + lane] = intel_sub_group_avc_ime_get_streamout_major_shape_distortions(
      both, CLK_AVC_ME_MAJOR_8x8_INTEL);
  out[group + 32 + lane] = intel_sub_group_avc_ime_get_streamout_major_shape_reference_ids(
      both, CLK_AVC_ME_MAJOR_8x8_INTEL);
  out[group + 48 + lane] = intel_sub_group_avc_ime_get_streamout_major_shape_distortions(
      first, CLK_AVC_ME_MAJOR_8x16_INTEL);
}

void store_refined(__global uint *out, intel_sub_group_avc_ref_result_t r) {
  store(out, intel_sub_group_avc_ref_get_motion_vectors(r),
        intel_sub_group_avc_ref_get_inter_distortions(r));
  out[48] = intel_sub_group_avc_ref_get_best_inter_distortion(r);
  out[51] = intel_sub_group_avc_ref_get_inter_directions(r);
}

__kernel ONE_GROUP void fractions(read_only image2d_t src, read_only image2d_t ref,
                                  __global uint *out, __global const ulong *vectors, uchar major,
                                  uchar minor, uchar resolution, uchar sad, uchar bilinear,
                                  uint2 table) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  intel_sub_group_avc_ref_payload_t p = intel_sub_group_avc_fme_initialize(
      MACROBLOCK, vectors[get_sub_group_local_id()], major, minor, 0, resolution, sad);
  if (bilinear)
    p = intel_sub_group_avc_ref_set_bilinear_filter_enable(p);
  p = intel_sub_group_avc_ref_set_motion_vector_cost_function(
      0, table, CLK_AVC_ME_COST_PRECISION_QPEL_INTEL, p);
  store_refined(out + GROUP,
                intel_sub_group_avc_ref_evaluate_with_single_reference(src, ref, vme, p));
}

__kernel ONE_GROUP void both_ways(read_only image2d_t src, read_only image2d_t fwd,
                                  read_only image2d_t bwd, __global uint *out,
                                  __global const ulong *vectors, uchar major, uchar minor,
                                  uchar directions, uchar weight, uchar mix) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  intel_sub_group_avc_ref_payload_t p = intel_sub_group_avc_bme_initialize(
      MACROBLOCK, vectors[get_sub_group_local_id()], major, minor, directions,
      CLK_AVC_ME_SUBPIXEL_MODE_INTEGER_INTEL, weight, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  if (!mix)
    p = intel_sub_group_avc_ref_set_bidirectional_mix_disable(p);
  store_refined(out + GROUP,
                intel_sub_group_avc_ref_evaluate_with_dual_reference(src, fwd, bwd, vme, p));
}

// A skip check; `ways` has two bits for each 8x8 block.
__kernel ONE_GROUP void skip(read_only image2d_t src, read_only image2d_t fwd,
                             read_only image2d_t bwd, __global uint *out,
                             __global const ulong *vectors, uint partition, uint ways,
                             ulong thresholds, uchar sad, uchar worst, ulong shapes) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  uint lane = get_sub_group_local_id();
  intel_sub_group_avc_sic_payload_t p = intel_sub_group_avc_sic_initialize(MACROBLOCK);
  p = intel_sub_group_avc_sic_configure_skc(partition, ways << 24, vectors[lane],
                                            CLK_AVC_ME_BIDIR_WEIGHT_THIRD_INTEL, sad, p);
  if (thresholds)
    p = intel_sub_group_avc_sic_set_skc_forward_transform_enable(thresholds, p);
  if (worst)
    p = intel_sub_group_avc_sic_set_block_based_raw_skip_sad(
        CLK_AVC_ME_BLOCK_BASED_SKIP_4x4_INTEL, p);
  if (shapes)
    p = intel_sub_group_avc_sic_set_inter_shape_penalty(shapes, p);
  intel_sub_group_avc_sic_result_t r =
      intel_sub_group_avc_sic_evaluate_with_dual_reference(src, fwd, bwd, vme, p);
  out += GROUP;
  out[32 + lane] = intel_sub_group_avc_sic_get_inter_distortions(r);
  out[48] = intel_sub_group_avc_sic_get_inter_raw_sads(r);
  out[49] = intel_sub_group_avc_sic_get_packed_skc_luma_count_threshold(r);
  ulong sums = intel_sub_group_avc_sic_get_packed_skc_luma_sum_threshold(r);
  out[50] = (uint)sums;
  out[51] = (uint)(sums >> 32);
}

// Edges are given for one macroblock: left, upper, upper right (16 each), then the corner.
__kernel ONE_GROUP void intra(read_only image2d_t src, __global uint *out,
                              __global const uchar *edges, uchar mask, uchar available, uchar sad,
                              uint shapes, uchar mode_penalty, uint neighbours, uint non_dc) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  uint lane = get_sub_group_local_id();
  intel_sub_group_avc_sic_payload_t p = intel_sub_group_avc_sic_initialize((ushort2)(16, 16));
  p = intel_sub_group_avc_sic_configure_ipe(mask, available, edges[lane], edges[48],
                                            edges[16 + lane], edges[32 + lane], sad, p);
  p = intel_sub_group_avc_sic_set_intra_luma_shape_penalty(shapes, p);
  p = intel_sub_group_avc_sic_set_intra_luma_mode_cost_function(mode_penalty, neighbours, non_dc,
                                                                p);
  intel_sub_group_avc_sic_result_t r = intel_sub_group_avc_sic_evaluate_ipe(src, vme, p);
  ulong modes = intel_sub_group_avc_sic_get_packed_ipe_luma_modes(r);
  out[48] = intel_sub_group_avc_sic_get_best_ipe_luma_distortion(r);
  out[49] = intel_sub_group_avc_sic_get_ipe_luma_shape(r);
  out[50] = (uint)modes;
  out[51] = (uint)(modes >> 32);
}

__kernel ONE_GROUP void intra_chroma(read_only image2d_t src, __global uint *out,
                                     __global const uchar *edges, __global const ushort *pairs,
                                     uchar available, uchar penalty) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  uint lane = get_sub_group_local_id();
  intel_sub_group_avc_sic_payload_t p = intel_sub_group_avc_sic_initialize((ushort2)(16, 16));
  p = intel_sub_group_avc_sic_configure_ipe(
      CLK_AVC_ME_INTRA_LUMA_PARTITION_MASK_ALL_INTEL, available, edges[lane], edges[48],
      edges[16 + lane], edges[32 + lane], pairs[lane], pairs[32], pairs[16 + lane],
      CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL, p);
  p = intel_sub_group_avc_sic_set_intra_chroma_mode_cost_function(penalty, p);
  intel_sub_group_avc_sic_result_t r = intel_sub_group_avc_sic_evaluate_ipe(src, vme, p);
  out[48] = intel_sub_group_avc_sic_get_best_ipe_luma_distortion(r);
  out[52] = intel_sub_group_avc_sic_get_best_ipe_chroma_distortion(r);
  out[53] = intel_sub_group_avc_sic_get_ipe_chroma_mode(r);
}

// Fields of interlaced pictures.
__kernel ONE_GROUP void fields(read_only image2d_t src, read_only image2d_t ref,
                               __global uint *out, uchar which) {
  sampler_t vme = CLK_AVC_ME_INITIALIZE_INTEL;
  intel_sub_group_avc_ime_payload_t p = intel_sub_group_avc_ime_initialize(
      MACROBLOCK, CLK_AVC_ME_PARTITION_MASK_16x16_INTEL, CLK_AVC_ME_SAD_ADJUST_MODE_NONE_INTEL);
  p = intel_sub_group_avc_ime_set_single_reference((short2)(0, 0),
                                                   CLK_AVC_ME_SEARCH_WINDOW_SMALL_INTEL, p);
  if (which & 1)
    p = intel_sub_group_avc_ime_set_source_interlaced_field_polarity(1, p);
  else
    p = intel_sub_group_avc_ime_set_source_interlaced_field_polarity(0, p);
  if (which & 2)
    p = intel_sub_group_avc_ime_set_single_reference_interlaced_field_polarity(1, p);
  else
    p = intel_sub_group_avc_ime_set_single_reference_interlaced_field_polarity(0, p);
  store_search(out + GROUP,
               intel_sub_group_avc_ime_evaluate_with_single_reference(src, ref, vme, p));
}
