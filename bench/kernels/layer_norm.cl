// One group a row: mean, variance, then scaled and shifted.
#define ITEMS 128

float sum_row(local float *parts, float own) {
    int l = get_local_id(0);
    parts[l] = own;
    for (int half_of = ITEMS / 2; half_of; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_of)
            parts[l] += parts[l + half_of];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float all = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

kernel void layer_norm(global const float *x, global const float *gain, global const float *shift,
                       global float *y, int columns) {
    local float parts[ITEMS];
    size_t first = (size_t)get_group_id(0) * columns;
    int l = get_local_id(0);
    float sum = 0, squares = 0;
    for (int i = l; i < columns; i += ITEMS)
        sum += x[first + i];
    float mean = sum_row(parts, sum) / columns;
    for (int i = l; i < columns; i += ITEMS) {
        float away = x[first + i] - mean;
        squares += away * away;
    }
    float scale = rsqrt(sum_row(parts, squares) / columns + 1e-5f);
    for (int i = l; i < columns; i += ITEMS)
        y[first + i] = (x[first + i] - mean) * scale * gain[i] + shift[i];
}
