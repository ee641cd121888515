// Everything that a name can stand for: constants, variables, strings, functions of one kernel
// and of several, a function that is nowhere.
constant int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
constant int *constant inside = &table[3];
constant char *constant names[2] = {"one", "two"};
global int counter[4] = {5, 6, 7, 8};
global int *global cursor = &counter[2];

__attribute__((noinline)) int own(int n, global int *p) { return n <= 1 ? p[n] : n * own(n - 1, p); }
__attribute__((noinline)) int shared(int n, global int *p) {
  return n <= 1 ? p[n] : shared(n - 1, p) + shared(n - 2, p);
}
int nowhere(int n);

kernel void calls_own(global int *a) { a[0] = own(a[1], a) + shared(a[2], a); }
kernel void plain(global int *no, int on) { no[get_global_id(0)] = on; }
kernel void calls_shared(global int *a, local int *s) {
  s[get_local_id(0)] = shared(a[0], a);
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = s[0];
}
kernel void reads(global int *a) {
  a[0] = table[a[1]] + *inside + counter[a[2]] + *cursor;
  printf("%s %d\n", names[a[3] & 1], a[0]);
}
kernel void calls_nowhere(global int *a) { a[0] = nowhere(a[1]); }
