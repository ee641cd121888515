// What kernels do to images.

kernel void paint(write_only image2d_t out) {
    write_imagef(out, (int2)(get_global_id(0), 0), (float4)(1));
}

kernel void look(global float *out, read_only image2d_t in) {
    out[get_global_id(0)] = read_imagef(in, (int2)(get_global_id(0), 0)).x;
}
