// Lanes that call one of two functions, by its address.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
int sum(int x) { return x + (int)get_local_id(0); }
int product(int x) { return x * (int)get_group_id(0) + (int)get_local_size(0); }
kernel void indirect(global int *out, int n) {
    int i = get_global_id(0);
    __auto_type function = &sum;
    if (i % 3) function = &product;
    out[i] = function(i) + n;
}
