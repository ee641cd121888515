// 64 bins of byte values: each work-item counts on its own in bytes of local memory, at most 255
// values, then the first 64 work-items add up one bin each, and `merge` adds up the groups.
#define ITEMS 64
#define BINS 64

kernel void count(global const uint *data, global uint *partial, int per_item) {
    local uchar own[BINS * ITEMS];
    int l = get_local_id(0);
#pragma unroll 4
    for (int b = 0; b < BINS; b++)
        own[b * ITEMS + l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int base = get_group_id(0) * ITEMS * per_item;
    for (int k = 0; k < per_item; k++) {
        uint four = data[base + k * ITEMS + l];
        own[(four >> 2 & 63) * ITEMS + l]++;
        own[(four >> 10 & 63) * ITEMS + l]++;
        own[(four >> 18 & 63) * ITEMS + l]++;
        own[(four >> 26 & 63) * ITEMS + l]++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
#pragma unroll 4
    for (int i = 0; i < ITEMS; i++)
        sum += own[l * ITEMS + (i + l & ITEMS - 1)];
    partial[get_group_id(0) * BINS + l] = sum;
}

kernel void merge(global const uint *partial, global uint *bins, int groups) {
    int b = get_global_id(0);
    uint sum = 0;
    for (int g = 0; g < groups; g++)
        sum += partial[g * BINS + b];
    bins[b] = sum;
}
