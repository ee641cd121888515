// Writes one element past the end of `out` when n is its length, and reads far away from it.
kernel void write_past_end(global int *out, int n) {
    int i = get_global_id(0);
    out[i == 5 ? n : i] = i;
}

kernel void read_far_away(global const int *in, global int *out, long distance) {
    int i = get_global_id(0);
    out[i] = in[i == 3 ? distance : i];
}
