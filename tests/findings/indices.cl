// Arrays inside of variables: indices that are wrong, and others that look as if they were.
struct parts { int a; char b[2]; int c[4]; };
constant int TABLE[3] = {1, 2, 3};

kernel void member(global int *out) {
  struct parts s = {-1, {42, 7}, {1, 2, 3, 4}};
  int i = get_global_id(0);
  out[i] = s.b[i];
}

kernel void inner(global int *out) {
  int grid[3][4];
  for (int k = 0; k < 12; k++)
    grid[k / 4][k % 4] = k;
  int i = get_global_id(0);
  out[i] = grid[0][i];
}

kernel void in_constants(global int *out) {
  int i = get_global_id(0);
  out[i] = TABLE[i - 1];
}

void put(local int *to, int at) { to[at] = at; }

kernel void all_inside(global int *out, global struct parts *given) {
  local int shared[16];
  struct parts own[4];
  int i = get_global_id(0);
  int *end = &own[0].c[4];  // right behind, for comparisons
  put(shared, i);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int *p = own[0].c; p < end; p++)
    *p = i;
  int4 v = (int4)(i, 1, 2, 3);
  out[i] = own[0].c[i & 3] + shared[15 - i] + ((int *)&v)[i & 3] + given[i].c[1];
}

kernel void behind_a_pointer(global int *out, global struct parts *given) {
  int i = get_global_id(0);
  out[i] = given[0].b[i];
}

#if __OPENCL_C_VERSION__ >= 200
int second(struct parts *given, int i) { return given->b[i]; }

kernel void generic_pointer(global int *out, global struct parts *given) {
  int i = get_global_id(0);
  out[i] = second(given, i);
}
#endif

struct row { int n; struct parts parts[2]; int last[1]; };

kernel void open_ends(global int *out, global struct row *given, constant struct row *same, global int (*rows)[4]) {
  int i = get_global_id(0);
  out[i] = given->last[i] + same->last[i] + rows[0][i] + given->parts[1].c[i & 3] + given[1].last[0];
}
