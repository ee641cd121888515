// A cell of a table needs those to its left and above (`reach` columns to the right of it).
// As a thread of the media pipeline it finds its coordinates, x and y, in place of the group id.
kernel void wavefront(volatile global int *cells, volatile global int *order, global const int *in,
                      int width, int reach) {
    uint place = get_group_id(0);
    int x = place & 0xFFFF, y = place >> 16;
    if (get_local_id(0) == 0) {
        int left = x > 0 ? cells[y * width + x - 1] : 0;
        int above = y > 0 ? cells[(y - 1) * width + min(x + reach, width - 1)] : 0;
        cells[y * width + x] = max(left, above) + in[y * width + x];
        order[1 + atomic_inc(order)] = y * width + x;
    }
}
