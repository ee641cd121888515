#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable
kernel void each(read_only image2d_msaa_t a, global float4 *o, int s) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  o[p.y * get_global_size(0) + p.x] = read_imagef(a, p, s);
}
kernel void count(read_only image2d_msaa_t a, global int *o) {
  o[0] = get_image_num_samples(a);
}
