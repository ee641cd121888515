// devices: dg2 pvc skl
// expect: a checked run reports it
// Without a required size the compiler picks sub-groups of 32; 16 lanes of the product are written.
kernel void half_done(global float *a) {
  int i = get_global_id(0);
  float x = a[i], square;
  __asm__ volatile("mul (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> %1(0,0)<1;1,0>"
                   : "=rw"(square) : "rw"(x));
  a[i] = square;
}
