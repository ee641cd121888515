// devices: pvc skl apl
// options: -cl-std=CL2.0
int sum(int *p, int n) {
  int total = 0;
  for (int k = 0; k < n; k++)
    total += p[k];
  return total;
}
kernel void generic_pointers(global int *in, global int *out, local int *shared, int which) {
  int own[8];
  int i = get_local_id(0), n = get_local_size(0);
  shared[i] = in[i] * 2;
  for (int k = 0; k < 8; k++)
    own[k] = in[(i + k) % n] + which;
  barrier(CLK_LOCAL_MEM_FENCE);
  int *p = which == 1 ? (int *)in : which == 2 ? (int *)shared : (int *)own;
  out[i] = sum(p, 8);
  out[n + i] = (to_local(p) != 0) + 2 * (to_global(p) != 0) + 4 * (to_private(p) != 0);
}
