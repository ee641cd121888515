// What every work-item function returns, in three dimensions; 24 values for each work-item.
kernel void work_items(global uint *out) {
    uint x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
         z = get_global_id(2) - get_global_offset(2);
    uint index = (z * get_global_size(1) + y) * get_global_size(0) + x;
    for (uint d = 0; d < 3; d++) {
        global uint *o = out + 24 * index + 8 * d;
        o[0] = get_global_id(d);
        o[1] = get_local_id(d);
        o[2] = get_group_id(d);
        o[3] = get_global_size(d);
        o[4] = get_local_size(d);
        o[5] = get_num_groups(d);
        o[6] = get_global_offset(d);
        o[7] = get_work_dim();
    }
}
