// The 32-bit hash of Yann Collet's xxHash of a message of 64 bytes a work-item.
#define P1 2654435761u
#define P2 2246822519u
#define P3 3266489917u

uint4 mix(uint4 sum, uint4 x) {
    return rotate(sum + x * P2, (uint4)(13)) * P1;
}

kernel void xxhash(global const uint4 *x, global uint *y, uint seed) {
    int i = get_global_id(0);
    uint4 s = (uint4)(seed + P1 + P2, seed + P2, seed, seed - P1);
#pragma unroll
    for (int k = 0; k < 4; k++)
        s = mix(s, x[4 * i + k]);
    uint h = rotate(s.x, 1u) + rotate(s.y, 7u) + rotate(s.z, 12u) + rotate(s.w, 18u) + 64;
    h = (h ^ h >> 15) * P2;
    h = (h ^ h >> 13) * P3;
    y[i] = h ^ h >> 16;
}
