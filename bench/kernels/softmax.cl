// One group a row: its greatest element, the sum of exponentials, the quotients.
#define ITEMS 128

float reduce_row(local float *parts, float own, int is_sum) {
    int l = get_local_id(0);
    parts[l] = own;
    for (int half_of = ITEMS / 2; half_of; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_of)
            parts[l] = is_sum ? parts[l] + parts[l + half_of] : fmax(parts[l], parts[l + half_of]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float all = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

kernel void softmax(global const float *x, global float *y, int columns) {
    local float parts[ITEMS];
    global const float *row = x + (size_t)get_group_id(0) * columns;
    int l = get_local_id(0);
    float most = -INFINITY, sum = 0;
    for (int i = l; i < columns; i += ITEMS)
        most = fmax(most, row[i]);
    most = reduce_row(parts, most, 0);
    for (int i = l; i < columns; i += ITEMS)
        sum += exp(row[i] - most);
    sum = reduce_row(parts, sum, 1);
    for (int i = l; i < columns; i += ITEMS)
        y[(size_t)get_group_id(0) * columns + i] = exp(row[i] - most) / sum;
}
