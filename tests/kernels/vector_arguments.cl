// Vectors and small scalars by value, and vector loads and stores.
kernel void vector_arguments(float4 f, int3 v, uchar2 b, short s, char c, ulong u,
                             global float4 *out, global ulong *mixed) {
    int i = get_global_id(0);
    out[i] = f * (float)i + (float4)(convert_float3(v), (float)s);
    mixed[i] = u + b.x * 256 + b.y + c + i;
}

kernel void vector_memory(global const float *in, global float *out, global const uchar4 *pixel,
                          global int4 *sum, global const short *packed, global float16 *wide) {
    int i = get_global_id(0);
    vstore3(vload3(i, in) * 2.0f, i, out);
    sum[i] = convert_int4(pixel[i]) + (int4)(i, 1, 2, 3);
    short8 p = vload8(i, packed);
    wide[i] = (float16)(convert_float8(p), convert_float8(p.s76543210));
}
