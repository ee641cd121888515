// Four bits a pass: groups count their digits, one group adds the counts up, groups scatter.
#define ITEMS 64
#define EACH 16
#define DIGITS 16

kernel void count(global const uint *x, global uint *counts, int shift) {
    local uint bins[DIGITS];
    int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0);
    if (l < DIGITS)
        bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < EACH; k++)
        atomic_inc(&bins[x[g * ITEMS * EACH + k * ITEMS + l] >> shift & DIGITS - 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < DIGITS)
        counts[l * groups + g] = bins[l];
}

kernel void add_up(global uint *counts, int n) {
    local uint parts[256];
    int l = get_local_id(0), per_item = n / 256;
    uint sum = 0;
#pragma unroll 1
    for (int i = 0; i < per_item; i++)
        sum += counts[l * per_item + i];
    parts[l] = sum;
    for (int step = 1; step < 256; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint left = l >= step ? parts[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        parts[l] += left;
    }
    uint before = parts[l] - sum;
#pragma unroll 1
    for (int i = 0; i < per_item; i++) {
        uint own = counts[l * per_item + i];
        counts[l * per_item + i] = before;
        before += own;
    }
}

kernel void scatter(global const uint *x, global const uint *counts, global uint *y, int shift) {
    local ushort places[DIGITS * ITEMS];
    int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0);
    uint own[EACH];
#pragma unroll 4
    for (int d = 0; d < DIGITS; d++)
        places[d * ITEMS + l] = 0;
    for (int k = 0; k < EACH; k++) {
        own[k] = x[(g * ITEMS + l) * EACH + k];
        places[(own[k] >> shift & DIGITS - 1) * ITEMS + l]++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < DIGITS) {
        uint before = 0;
#pragma unroll 1
        for (int i = 0; i < ITEMS; i++) {
            uint here = places[l * ITEMS + i];
            places[l * ITEMS + i] = before;
            before += here;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < EACH; k++) {
        uint digit = own[k] >> shift & DIGITS - 1;
        y[counts[digit * groups + g] + places[digit * ITEMS + l]++] = own[k];
    }
}
