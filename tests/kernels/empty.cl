// A kernel without a body and without arguments.
kernel void empty(void) {}
