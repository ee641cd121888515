// One time step of gravity among n bodies; a position is (x, y, z, mass).
// The local size divides n; `tile` holds one position for each work-item of a group.
kernel void nbody(global const float4 *position, global float4 *velocity,
                  global float4 *new_position, local float4 *tile, int n, float dt,
                  float softening) {
    int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
    float4 p = position[i];
    float3 force = (float3)(0.0f);
    for (int start = 0; start < n; start += size) {
        tile[l] = position[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++) {
            float3 d = tile[j].xyz - p.xyz;
            float inverse = rsqrt(dot(d, d) + softening);
            force += d * (tile[j].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 v = velocity[i];
    v.xyz += dt * force;
    velocity[i] = v;
    new_position[i] = (float4)(p.xyz + dt * v.xyz, p.w);
}
