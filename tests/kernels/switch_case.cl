// A switch on a value that differs between lanes, with a fall-through, a loop and an early return.
kernel void switch_lanes(global const int *in, global int *out, int n) {
    int i = get_global_id(0), x = in[i];
    switch (x & 15) {
    case 0: x = 5 * in[(i + 1) % n]; break;
    case 1: x = in[(i + 7) % n] - 3; break;
    case 2: x = in[in[(i + 2) % n] & 63]; break;
    case 3: x /= in[(i + 1) % n] | 1; break;
    case 4: x = x << 3; break;
    case 5:
        for (int k = 0; k < (i & 7); k++)
            x += in[k];
        break;
    case 6: x ^= 77;
    case 7: x += 1; break;
    case 9: return;
    default: x = -1;
    }
    out[i] = x;
}

// A switch on a kernel argument: the same case in all lanes.
kernel void switch_uniform(global const int *in, global int *out, int n) {
    int i = get_global_id(0), x = in[i];
    switch (n) {
    case 0: x = 5 * x; break;
    case 1: x = x - 3; break;
    case 2: x = in[x & 63]; break;
    case 3: x /= in[i] | 1; break;
    case 4: x = x << 3; break;
    case 5: x ^= 77; break;
    case 6: x += 1; break;
    case 7: x |= 9; break;
    default: x = -1;
    }
    out[i] = x;
}
