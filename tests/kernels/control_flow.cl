// Nested loops with continue, break, a jump out of both, and do-while; Collatz path lengths.
kernel void control_flow(global const int *in, global int *out, int n) {
    int i = get_global_id(0), s = 0;
    for (int j = 0; j < n; j++) {
        if (in[j] % 5 == i % 5)
            continue;
        if (in[j] < 0)
            break;
        int k = in[j];
        while (k > 0) {
            s += (k & 1) + (i & 3);
            k >>= 1;
            if (s > 40)
                goto done;
        }
        do {
            s--;
        } while (s > 20);
    }
done:
    out[i] = s;
}

kernel void collatz(global const uint *in, global uint *steps) {
    int i = get_global_id(0);
    uint v = in[i], count = 0;
    while (v > 1) {
        v = (v & 1) ? 3 * v + 1 : v / 2;
        count++;
    }
    steps[i] = count;
}
