// One kernel for each kind of argument.
typedef struct {
  int a;
  float b[3];
  char c;
  double d;
} S;
constant sampler_t repeat =
    CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;

__attribute__((reqd_work_group_size(16, 4, 1))) kernel void
structs(global int *a, S s, const short3 v, global const volatile float *restrict p) {
  a[get_global_id(0)] = s.a + s.b[get_local_id(0) % 3] + s.d + v.y + p[1];
}
__attribute__((vec_type_hint(float4))) __attribute__((work_group_size_hint(8, 8, 1))) kernel void
sizes(global float4 *a) {
  a[get_global_id(0)] *= get_work_dim() + get_num_groups(1) + get_global_size(2);
}
__attribute__((intel_reqd_sub_group_size(16))) kernel void sub_groups(global int *a) {
  a[get_global_id(0)] = sub_group_reduce_add(a[get_global_id(1)]);
}
kernel void images(read_only image2d_t i, write_only image3d_t o, sampler_t s, global float4 *f) {
  int x = get_global_id(0);
  f[x] = read_imagef(i, repeat, (float2)(x, 0.5f)) + read_imagef(i, s, (float2)(x, 1)) +
         get_image_width(i) + get_image_depth(o);
}
// The names are words that YAML 1.1 takes for booleans, nothing and numbers.
kernel void no(global int *on, int off, int yes, int null, int y, int e1, local float4 *l1,
               local char *l2) {
  on[off] = yes + null + y + e1;
  l1[get_local_id(0)] = yes;
  l2[off] = y;
  barrier(CLK_LOCAL_MEM_FENCE);
  on[yes] = l2[y] + l1[y].x;
}
kernel void private_array(global int *a, int n) {
  int t[100], x = get_local_id(0);
  for (int i = 0; i < n; i++) t[(i * n + x) % 100] = a[i];
  for (int i = 0; i < n; i++) a[i] = t[(i * 7 + a[i]) % 100];
}
