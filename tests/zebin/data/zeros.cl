global int ones[3] = {1, 1, 1};
global int zeros[100];
constant int none[50] = {0};
kernel void k(global int *p) { zeros[p[0]] = 1; p[2] = ones[p[1]] + none[p[1]]; }
