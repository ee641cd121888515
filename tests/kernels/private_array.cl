// Private arrays indexed by data: two small enough for registers, one that needs memory.
kernel void private_array(global const uchar *in, global int *out) {
    int i = get_global_id(0);
    int count[16];
    for (int k = 0; k < 16; k++)
        count[k] = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++)
        count[in[i * 32 + k] & 15] += k;
    for (int k = 0; k < 16; k++)
        out[i * 16 + k] = count[(in[i] + k) & 15];
}

kernel void private_sort(global const int *in, global int *out) {
    int i = get_global_id(0);
    int v[12];
#pragma unroll 1
    for (int k = 0; k < 12; k++) {
        int x = in[i * 12 + k], j = k;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
    for (int k = 0; k < 12; k++)
        out[i * 12 + k] = v[k];
}

kernel void private_memory(global const uchar *in, global uint *out) {
    int i = get_global_id(0);
    uint table[128];
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        table[k] = k * (i + 1);
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        uint a = in[i * 32 + k] & 127, b = (a * 7 + k) & 127;
        uint t = table[a];
        table[a] = table[b] + 1;
        table[b] = t;
    }
    uint sum = 0;
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        sum = sum * 31 + table[k];
    out[i] = sum;
}
