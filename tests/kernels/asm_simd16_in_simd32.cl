// The compiler picks SIMD32, and the inline assembly is 16 lanes wide: nothing writes lanes 16-31 of `r`.
kernel void half_done(global float *a)
{
    int i = get_global_id(0);
    float x = a[i], r;
    __asm__ volatile("mul (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> %1(0,0)<1;1,0>" : "=rw"(r) : "rw"(x));
    a[i] = r;
}
