// Kernels whose threads of 16 work items meet at named and split barriers; test_named_races.py says
// which race.
#define SIGNAL(barrier, threads) __asm__ volatile("nbarrier.signal " #barrier ":ub " #threads ":ub")
#define WAIT(barrier) __asm__ volatile("nbarrier.wait " #barrier ":ub")
#define HALF(n) (get_sub_group_id() / 2 == n)
#define KERNEL __attribute__((intel_reqd_sub_group_size(16))) kernel

KERNEL void all_meet(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    SIGNAL(1, 4);
    WAIT(1);
    out[get_global_id(0)] = t[l ^ 37];
}

KERNEL void nobody_waits(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    SIGNAL(1, 4);
    out[get_global_id(0)] = t[l ^ 37];
}

// Threads 0 and 1 meet, and threads 2 and 3 do.
KERNEL void halves_meet(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (HALF(0)) { SIGNAL(1, 2); WAIT(1); } else { SIGNAL(2, 2); WAIT(2); }
    out[get_global_id(0)] = t[l ^ 17];
}

KERNEL void halves_meet_others(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (HALF(0)) { SIGNAL(1, 2); WAIT(1); } else { SIGNAL(2, 2); WAIT(2); }
    out[get_global_id(0)] = t[l ^ 33];
}

// Thread 0 writes, 1 is told and tells 2, which tells 3.
KERNEL void chain(global int *out) {
    local int t[16];
    int l = get_local_id(0), s = get_sub_group_id();
    if (s == 0) { t[l] = l; SIGNAL(1, 2); }
    if (s == 1) { SIGNAL(1, 2); WAIT(1); SIGNAL(2, 2); }
    if (s == 2) { SIGNAL(2, 2); WAIT(2); SIGNAL(3, 2); }
    if (s == 3) { SIGNAL(3, 2); WAIT(3); out[get_global_id(0)] = t[l - 48]; }
}

KERNEL void broken_chain(global int *out) {
    local int t[16];
    int l = get_local_id(0), s = get_sub_group_id();
    if (s == 0) { t[l] = l; SIGNAL(1, 2); }
    if (s == 1) { SIGNAL(2, 2); SIGNAL(1, 2); WAIT(1); }
    if (s == 2) { SIGNAL(2, 2); WAIT(2); SIGNAL(3, 2); }
    if (s == 3) { SIGNAL(3, 2); WAIT(3); out[get_global_id(0)] = t[l - 48]; }
}

// Each round one half writes and the other reads.
KERNEL void rounds(global int *out, int n) {
    local int t[32];
    int l = get_local_id(0);
    for (int k = 0; k < n; k++) {
        if (HALF(0)) t[l] = k;
        SIGNAL(1, 4);
        WAIT(1);
        if (HALF(1)) out[get_global_id(0)] += t[l - 32];
        SIGNAL(2, 4);
        WAIT(2);
    }
}

KERNEL void rounds_without_return(global int *out, int n) {
    local int t[32];
    int l = get_local_id(0);
    for (int k = 0; k < n; k++) {
        if (HALF(0)) t[l] = k;
        SIGNAL(1, 4);
        WAIT(1);
        if (HALF(1)) out[get_global_id(0)] += t[l - 32];
    }
}

// Any two threads open the barrier: which, is chance.
KERNEL void any_two(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    SIGNAL(1, 2);
    WAIT(1);
    out[get_global_id(0)] = t[l ^ 17];
}

// The halves use one barrier after each other: the barrier of the group is between.
KERNEL void in_turn(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    if (HALF(0)) { SIGNAL(1, 2); WAIT(1); out[get_global_id(0)] = t[l ^ 17]; }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (HALF(1)) { SIGNAL(1, 2); WAIT(1); out[get_global_id(0)] = t[l ^ 17]; }
}

KERNEL void fence_of_local(global int *out) {
    int l = get_local_id(0), g = get_group_id(0) * 64;
    out[g + l] = l;
    __asm__ volatile("lsc_fence.slm.none.group");
    SIGNAL(1, 4);
    WAIT(1);
    out[128 + g + l] = out[g + (l ^ 37)];
}

KERNEL void split(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    __asm__ volatile("sbarrier.signal");
    out[get_global_id(0)] = l;
    __asm__ volatile("sbarrier.wait");
    out[get_global_id(0)] += t[l ^ 37];
}

KERNEL void split_too_late(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    __asm__ volatile("sbarrier.signal");
    t[l] = l;
    __asm__ volatile("sbarrier.wait");
    out[get_global_id(0)] = t[l ^ 37];
}

// Between the signals of the first and the waits of the second, nothing is ordered.
KERNEL void split_twice(global int *out) {
    local int t[16];
    int l = get_local_id(0), s = get_sub_group_id();
    __asm__ volatile("sbarrier.signal");
    if (s == 0) {
        __asm__ volatile("sbarrier.signal");
        t[l] = l;
        __asm__ volatile("sbarrier.wait");
    } else {
        __asm__ volatile("sbarrier.wait");
        if (s == 1) out[get_global_id(0)] = t[l - 16];
        __asm__ volatile("sbarrier.signal");
    }
    __asm__ volatile("sbarrier.wait");
}

// What orders the work items of one thread is the wait, not the signal.
KERNEL void lanes(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    SIGNAL(1, 4);
    out[get_global_id(0)] = t[l ^ 1];
    WAIT(1);
}

KERNEL void lanes_behind_the_wait(global int *out) {
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    SIGNAL(1, 4);
    WAIT(1);
    out[get_global_id(0)] = t[l ^ 1];
}
