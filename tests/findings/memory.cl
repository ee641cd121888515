// Kernels that misuse memory, and others that do the like correctly; test_memory.py says which.

kernel void misaligned(global int *out, global char *in) {
    out[get_global_id(0)] = *(global int *)(in + get_global_id(0));
}

struct __attribute__((packed)) packed { char a; int b; };

kernel void packed_fields(global int *out, global struct packed *in) {
    out[get_global_id(0)] = in[get_global_id(0)].b;
}

kernel void vectors_of_elements(global int *out, global char *in) {
    char4 v = vload4(get_global_id(0), in + 1);
    out[get_global_id(0)] = v.x + v.y + v.z + v.w;
}

kernel void misaligned_atomic(global char *out) {
    atomic_inc((global int *)(out + 2));
}

kernel void divided(global int *out, global const int *in) {
    int i = get_global_id(0);
    out[i] = out[i] / in[i];
}

kernel void add_one(global int *out, global int *in) {
    int i = get_global_id(0);
    out[i] += in[i]++;
}

kernel void count(global int *out) {
    atomic_inc(out);
}

kernel void casts_const_away(global int *out, global const int *in) {
    int i = get_global_id(0);
    out[i] = in[i];
    ((global int *)in)[i] = i;
}

constant int table[4] = {1, 2, 3, 4};

kernel void writes_a_constant(global int *out, ulong at) {
    out[0] = table[get_global_id(0) & 3];
    *(global int *)((ulong)table + at) = 5;
}

kernel void talk(int n) {
    for (int i = 0; i < n; i++)
        printf("%d %d %d %d %d %d %d %d\n", i, i, i, i, i, i, i, i);
}

kernel void reads_at(global int *out, ulong at) {
    out[get_global_id(0)] = *(global int *)at;
}

kernel void spills(global int *out, int n) {
    int own[64];
    for (int i = 0; i < 64; i++)
        own[i] = out[i];
    for (int i = 0; i < 64; i++)
        out[i] = own[i * n];
}

kernel void not_waited_for(global int *out, global const int *in) {
    local int tile[32];
    int l = get_local_id(0);
    event_t e = async_work_group_copy(tile, in, 32, 0);
    if (out[0])
        wait_group_events(1, &e);
    out[get_global_id(0)] = tile[31 - l];
}

kernel void broadcast(global float *out, global const float *in) {
    out[get_global_id(0)] = *in;
}

kernel void chosen(global int *out, global const int *in) {
    int i = get_global_id(0);
    if (in[i] > 3)
        out[i] = in[i];
}

struct padded { int a; long b; char c; };

kernel void fill(global struct padded *out) {
    int i = get_global_id(0);
    out[i].a = i;
    out[i].b = i;
    out[i].c = i;
}

kernel void copy(global struct padded *out, global const struct padded *in) {
    out[get_global_id(0)] = in[get_global_id(0)];
}

kernel void sums(global long *out, global const struct padded *in) {
    int i = get_global_id(0);
    out[i] = in[i].a + in[i].b + in[i].c;
}

kernel void sums_behind(global int *out, global int *a, global int *b, local int *shared) {
    int i = get_global_id(0);
    int sum = a[i] + b[i];
    atomic_add(&b[40 + i], 1);
    out[i] = sum + shared[i * 4];
    out[i + 64] = 1;
}

kernel void then_stores(global int *out, global int *a) {
    int i = get_global_id(0);
    out[120 + (a[i] & 63)] = i;
}
