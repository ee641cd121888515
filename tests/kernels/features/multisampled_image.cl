// devices: apl skl dg2
// options: -cl-std=CL3.0
// internal options: -cl-ext=+cl_khr_gl_msaa_sharing
// expect: needs multisampled surfaces
#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable
kernel void multisampled_image(read_only image2d_msaa_t image, global float4 *out, int sample) {
  int2 place = (int2)(get_global_id(0), get_global_id(1));
  out[place.x] = read_imagef(image, place, sample);
}
