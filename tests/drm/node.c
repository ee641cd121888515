/* A program that speaks to the kernel driver i915 by itself: what tests/drm/test_node.py runs.
 *
 * Batches are made of MI_STORE_DATA_IMM and MI_COPY_MEM_MEM: what the GPU wrote shows whose pages
 * it had.  Each case prints its name and "ok", or what was wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint32_t u32;
typedef uint64_t u64;
#define PAGE 4096
#define CHECK(x) do { if (!(x)) { printf("line %d: %s (errno %d)\n", __LINE__, #x, errno); exit(1); } } while (0)

struct GetParam { int param; int *value; };
struct Create { u64 size; u32 handle, pad; };
struct Offset { u32 handle, pad; u64 offset; };
struct User { u64 address, size; u32 flags, handle; };
struct Context { u32 id, flags; u64 extensions; };
struct Param { u32 context, size; u64 param, value; };
struct Reset { u32 context, flags, resets, active, pending, pad; };
struct Object { u32 handle, relocations; u64 relocs, alignment, offset, flags, rsvd1, rsvd2; };
struct Exec { u64 buffers; u32 count, start, length, dr1, dr4, clips; u64 clip, flags, rsvd1, rsvd2; };
struct Wait { u32 handle, flags; int64_t timeout; };
struct Reg { u64 offset, value; };
#define I915(type, nr, s) _IOC(type, 'd', 0x40 + nr, sizeof(s))
#define BOTH (_IOC_READ | _IOC_WRITE)
#define CLOSE _IOC(_IOC_WRITE, 'd', 0x09, 8)

static int fd;
static u32 context;

static void open_node(void) {
  fd = open("/dev/dri/renderD128", O_RDWR);
  CHECK(fd >= 0);
  struct Context c = {0};
  CHECK(!ioctl(fd, I915(BOTH, 0x2d, c), &c));
  context = c.id;
}

static u32 create(u64 size, void **at) {
  struct Create c = {.size = size};
  CHECK(!ioctl(fd, I915(BOTH, 0x1b, c), &c));
  struct Offset o = {.handle = c.handle};
  CHECK(!ioctl(fd, I915(BOTH, 0x24, o), &o));
  *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, o.offset);
  CHECK(*at != MAP_FAILED);
  return c.handle;
}

static int user(void *at, u64 size, u32 *handle) {
  struct User u = {(uintptr_t)at, size, 0, 0};
  int r = ioctl(fd, I915(BOTH, 0x33, u), &u);
  *handle = u.handle;
  return r;
}

static int wait_for(u32 handle, int64_t ns) {
  struct Wait w = {handle, 0, ns};
  return ioctl(fd, I915(BOTH, 0x2c, w), &w);
}

static void close_object(u32 handle) {
  u32 c[2] = {handle, 0};
  CHECK(!ioctl(fd, CLOSE, c));
}

/* Run a batch with objects at the addresses that the program has them at. */
static int submit(const u32 *words, u32 bytes, u32 n, const u32 *handles, void *const *places) {
  static u32 batch;
  static void *at;
  if (!batch) batch = create(PAGE, &at);
  memcpy(at, words, bytes);
  struct Object o[16] = {0};
  for (u32 k = 0; k < n; k++) o[k] = (struct Object){.handle = handles[k], .offset = (uintptr_t)places[k], .flags = 1 << 4 | 1 << 3};
  o[n] = (struct Object){.handle = batch, .offset = (uintptr_t)at, .flags = 1 << 4 | 1 << 3};
  struct Exec e = {.buffers = (uintptr_t)o, .count = n + 1, .length = bytes, .flags = 1, .rsvd1 = context};
  if (ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e)) return -1;
  return wait_for(batch, -1);
}

#define LOW(p) (u32)(uintptr_t)(p)
#define HIGH(p) (u32)((uintptr_t)(p) >> 32)
#define STORE(p, v) 0x10000002, LOW(p), HIGH(p), (v)
#define COPY(to, from) 0x17000003, LOW(to), HIGH(to), LOW(from), HIGH(from)
#define END 0x05000000

static int store(u32 handle, void *base, void *at, u32 value) {
  u32 words[] = {STORE(at, value), END, 0};
  return submit(words, sizeof words, 1, &handle, &base);
}

static int copy(u32 h1, void *b1, void *to, u32 h2, void *b2, void *from) {
  u32 words[] = {COPY(to, from), END};
  u32 handles[] = {h1, h2};
  void *places[] = {b1, b2};
  return submit(words, sizeof words, h1 == h2 ? 1 : 2, handles, places);
}

static void *pages(int n) {
  void *p = mmap(0, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

static void answers(void) {
  int params[] = {4, 32, 33, 34, 46, 47, 51, 37, 41, 18};
  for (unsigned k = 0; k < sizeof params / 4; k++) {
    int v = -1;
    struct GetParam g = {params[k], &v};
    CHECK(!ioctl(fd, I915(BOTH, 0x06, g), &g));
    printf("%d=%d ", params[k], v);
  }
  int v;
  struct GetParam none = {9999, &v};
  CHECK(ioctl(fd, I915(BOTH, 0x06, none), &none) == -1 && errno == EINVAL);
  struct Param p = {.context = context, .param = 3};
  CHECK(!ioctl(fd, I915(BOTH, 0x34, p), &p) && p.value == 1ull << 47);
  struct Reg a = {0x2358 | 1, 0}, b = a, bad = {0x2000, 0};
  CHECK(!ioctl(fd, I915(BOTH, 0x31, a), &a) && !usleep(2000) && !ioctl(fd, I915(BOTH, 0x31, b), &b) && b.value > a.value);
  CHECK(ioctl(fd, I915(BOTH, 0x31, bad), &bad) == -1 && errno == EINVAL);
  CHECK(ioctl(fd, _IOC(BOTH, 'd', 0x7f, 8), &a) == -1 && errno == EINVAL);
  CHECK(open("/dev/dri/card0", O_RDWR) == -1 && errno == ENOENT);
}

static void created(void) {
  void *at;
  u32 h = create(3 * PAGE, &at);
  u32 *w = (u32 *)((char *)at + 2 * PAGE);
  CHECK(!store(h, at, w, 77) && *w == 77);
  struct Offset o = {.handle = 9999};
  CHECK(ioctl(fd, I915(BOTH, 0x24, o), &o) == -1 && errno == ENOENT);
  close_object(h);
  u32 again[2] = {h, 0};
  CHECK(ioctl(fd, CLOSE, again) == -1 && errno == EINVAL);
}

static void adopted(void) {
  u32 *p = pages(4), h, h2;
  for (int k = 0; k < 4096; k++) p[k] = k;
  CHECK(!user(p, 2 * PAGE, &h) && !user((char *)p + PAGE, 3 * PAGE, &h2)); /* overlapping */
  CHECK(!store(h, p, p + 1500, 7) && p[1500] == 7 && p[1499] == 1499);
  p[1600] = 8; /* the program writes, the GPU reads; both objects have the page */
  CHECK(!copy(h2, p + 1024, p + 1700, h2, p + 1024, p + 1600) && p[1700] == 8);
  close_object(h);
  CHECK(!store(h2, p + 1024, p + 4095, 9) && p[4095] == 9 && p[4094] == 4094);
  close_object(h2);
}

static void moved(void) {
  u32 *p = pages(2), h;
  CHECK(!user(p, 2 * PAGE, &h) && !store(h, p, p, 1) && p[0] == 1);
  munmap(p, 2 * PAGE); /* what malloc does; then other pages are there */
  CHECK(store(h, p, p, 2) == -1 && errno == EFAULT);
  u32 *q = mmap(p, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(q == p && q[0] == 0);
  CHECK(!store(h, p, p + 5, 3) && p[5] == 3 && p[0] == 0);
  close_object(h);
}

static void grown(void) { /* realloc of a large block moves pages and lengthens mappings */
  u32 *p = pages(2), *other = pages(2), h, h2;
  CHECK(!user(p, 2 * PAGE, &h) && !user(other, 2 * PAGE, &h2));
  other[0] = 5, p[0] = 6;
  CHECK(!store(h, p, p + 1, 1) && !store(h2, other, other + 1, 1));
  u32 *q = mremap(p, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
  CHECK(q != MAP_FAILED && q[0] == 6);
  memset(q, 1, 64 * PAGE);
  CHECK(other[0] == 5 && other[1] == 1);
  u32 *r = mmap(p, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (q == p ? 0 : MAP_FIXED), -1, 0);
  CHECK(r != MAP_FAILED);
  if (r == p) CHECK(!store(h, p, p + 1, 2) && p[1] == 2 && p[0] == 0 && q[1] == 0x01010101);
}

static void exchanged(void) { /* pages in the middle, by new ones and by those of another object */
  u32 *p = pages(4), *q = pages(4), *third = p + 2 * 1024, *spare = pages(1), h, h2;
  CHECK(!user(p, 4 * PAGE, &h) && !user(q, 4 * PAGE, &h2) && !store(h, p, third, 1) && !store(h2, q, q + 2 * 1024, 2));
  CHECK(mmap(third, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == third);
  third[5] = 7;
  CHECK(!copy(h, p, p + 1, h, p, third + 5) && p[1] == 7 && !store(h, p, third, 3) && third[0] == 3 && third[5] == 7);
  CHECK(mremap(q + 2 * 1024, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, spare) == spare);
  CHECK(mremap(third, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + 2 * 1024) == q + 2 * 1024);
  CHECK(mremap(spare, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, third) == third && third[0] == 2);
  CHECK(!store(h, p, third + 1, 4) && third[1] == 4 && !store(h2, q, q + 2 * 1024 + 1, 5) && q[2 * 1024 + 1] == 5 && third[1] == 4);
}

static void refused(void) {
  u32 *p = pages(3), h;
  munmap(p + 1024, PAGE);
  CHECK(user(p, 3 * PAGE, &h) == -1 && errno == EFAULT);
  CHECK(user((char *)p + 4, PAGE, &h) == -1 && errno == EINVAL);
  CHECK(user(p, 0, &h) == -1 && errno == EINVAL);
  void *at;
  u32 b = create(PAGE, &at);
  struct Object o = {.handle = b, .offset = (uintptr_t)at};
  struct Exec e = {.buffers = (uintptr_t)&o, .count = 1, .flags = 1, .rsvd1 = context};
  CHECK(ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) == -1 && errno == EINVAL); /* not pinned */
  o.flags = 1 << 4, e.rsvd1 = 500;
  CHECK(ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) == -1 && errno == ENOENT); /* no such context */
  o.offset = 1ull << 47, e.rsvd1 = context;
  CHECK(ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) == -1 && errno == EINVAL);
  e.flags = 3;
  CHECK(ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) == -1 && errno == EINVAL); /* the blitter */
}

static void left_out(void) { /* an object that is gone, and one that is there twice */
  void *at, *gone;
  u32 h = create(PAGE, &at), closed;
  CHECK(!store(h, at, at, 5)); /* makes the batch's object */
  close_object(closed = create(PAGE, &gone));
  u32 words[] = {STORE(at, 6), END, 0}, handles[] = {h, closed, h, ~0u};
  void *places[] = {at, gone, at, gone};
  CHECK(!submit(words, sizeof words, 4, handles, places) && *(u32 *)at == 6);
  struct Reset s = {.context = context};
  CHECK(!ioctl(fd, I915(BOTH, 0x32, s), &s) && s.active == 0);
}

static void read_only(void) {
  u32 *p = pages(1), h, h2, *q = pages(1);
  p[3] = 33;
  mprotect(p, PAGE, PROT_READ);
  CHECK(!user(p, PAGE, &h) && !user(q, PAGE, &h2));
  CHECK(!copy(h2, q, q, h, p, p + 3) && q[0] == 33);
}

static u32 ends;

static void *writes(void *at) {
  volatile u32 *p = at;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, 0); /* as threads of libraries do */
  while (!__atomic_load_n(&ends, __ATOMIC_RELAXED))
    for (int k = 0; k < 16; k++) p[k * 1024 + 4] = ++p[k * 1024];
  return 0;
}

static void written_meanwhile(void) { /* no write is lost, and no thread is */
  for (int k = 0; k < 100; k++) {
    pthread_t t[4];
    u32 h, *p = pages(16);
    ends = 0;
    for (int n = 0; n < 4; n++) CHECK(!pthread_create(&t[n], 0, writes, p + 8 * n));
    while (!__atomic_load_n(p, __ATOMIC_RELAXED)) sched_yield();
    CHECK(!user(p, 16 * PAGE, &h));
    ends = 1;
    for (int n = 0; n < 4; n++) pthread_join(t[n], 0);
    for (int n = 0; n < 64; n++) CHECK(p[n / 4 * 1024 + n % 4 * 8] == p[n / 4 * 1024 + n % 4 * 8 + 4]);
    CHECK(!store(h, p, p, 4) && p[0] == 4);
    close_object(h);
    munmap(p, 16 * PAGE);
  }
}

static sigjmp_buf back;
static void *fault_at;
static void own_handler(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  fault_at = info->si_addr;
  siglongjmp(back, 1);
}

static void own_faults(void) { /* the program's own faults are its own, whatever stands between */
  u32 h, *p = pages(1), *fixed = pages(1);
  int status;
  struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, old;
  CHECK(!user(p, PAGE, &h) && !mprotect(fixed, PAGE, PROT_READ));
  CHECK(!sigaction(SIGSEGV, &own, &old) && old.sa_handler == SIG_DFL);
  for (int k = 0; k < 3; k++) {
    fault_at = 0;
    if (!sigsetjmp(back, 1)) *(volatile u32 *)fixed = 1;
    CHECK(fault_at == fixed);
    u32 h2, *q = pages(1);
    q[0] = 5;
    CHECK(!user(q, PAGE, &h2) && q[0] == 5);
  }
  CHECK(!sigaction(SIGSEGV, 0, &old) && old.sa_sigaction == own_handler);
  for (int k = 0; k < 2; k++) {
    pid_t child = fork();
    if (!child) {
      signal(SIGSEGV, SIG_DFL);
      k ? raise(SIGSEGV) : (*(volatile u32 *)fixed = 1);
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
}

static void stack(void) {
  u32 room[3 * 1024], h;
  u32 *p = (u32 *)(((uintptr_t)room + PAGE - 1) & -PAGE);
  for (int k = 0; k < 1024; k++) p[k] = k;
  CHECK(!user(p - 1024 < room ? p : p, PAGE, &h) && !store(h, p, p + 10, 99) && p[10] == 99 && p[11] == 11);
}

static void forked(void) {
  u32 *p = pages(2), h, status;
  CHECK(!user(p, 2 * PAGE, &h) && !store(h, p, p, 1));
  pid_t child = fork();
  if (!child) {
    p[0] = 50; /* private to the child */
    struct Context c = {0};
    int r = ioctl(fd, I915(BOTH, 0x2d, c), &c);
    _exit(r == -1 ? 7 : 1);
  }
  CHECK(waitpid(child, (int *)&status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(p[0] == 1);
  p[1] = 3;
  CHECK(!copy(h, p, p + 2, h, p, p + 1) && p[2] == 3 && !store(h, p, p, 4) && p[0] == 4);
  child = fork();
  if (!child) { /* a child may have a GPU of its own */
    void *at;
    close(fd);
    open_node();
    u32 b = create(PAGE, &at);
    u32 words[] = {STORE((u32 *)at + 512, 9), END, 0};
    memcpy(at, words, sizeof words);
    struct Object o = {.handle = b, .offset = (uintptr_t)at, .flags = 1 << 4};
    struct Exec e = {.buffers = (uintptr_t)&o, .count = 1, .flags = 1, .rsvd1 = context};
    _exit(ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) || wait_for(b, -1) || ((u32 *)at)[512] != 9);
  }
  CHECK(waitpid(child, (int *)&status, 0) == child && status == 0);
}

static void forked_meanwhile(void) { /* what the GPU has not done yet it does to the parent's pages */
  void *at, *b;
  u32 *p = pages(1), h, hs = create(PAGE, &at), batch = create(PAGE, &b);
  int status;
  CHECK(!user(p, PAGE, &h) && !store(h, p, p, 1));
  u32 words[] = {0x0e00c002, 1, LOW(at), HIGH(at), STORE(p, 2), END, 0}; /* behind a semaphore */
  memcpy(b, words, sizeof words);
  struct Object o[3] = {{.handle = h, .offset = (uintptr_t)p, .flags = 1 << 4}, {.handle = hs, .offset = (uintptr_t)at, .flags = 1 << 4}, {.handle = batch, .offset = (uintptr_t)b, .flags = 1 << 4}};
  struct Exec e = {.buffers = (uintptr_t)o, .count = 3, .flags = 1, .rsvd1 = context};
  CHECK(!ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e));
  pid_t child = fork();
  if (!child) _exit(p[0] != 1);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  *(volatile u32 *)at = 1;
  CHECK(!wait_for(batch, -1) && p[0] == 2);
}

static void hangs(void) {
  void *at;
  u32 h = create(PAGE, &at);
  u32 words[] = {STORE((char *)at + 0x10000000ull, 1), END, 0};
  CHECK(!submit(words, sizeof words, 1, &h, &at));
  struct Reset s = {.context = context};
  CHECK(!ioctl(fd, I915(BOTH, 0x32, s), &s) && s.active == 1);
  struct Context c = {0};
  CHECK(!ioctl(fd, I915(BOTH, 0x2d, c), &c));
  context = c.id; /* others go on */
  CHECK(!store(h, at, at, 5) && *(u32 *)at == 5);
  s = (struct Reset){.context = context};
  CHECK(!ioctl(fd, I915(BOTH, 0x32, s), &s) && s.active == 0);
}

static void many(void) { /* handles, pages and files stay few */
  for (int k = 0; k < 2000; k++) {
    void *at;
    u32 h = create(64 * PAGE, &at), hu, *p = pages(16);
    memset(at, k, 64 * PAGE);
    CHECK(h < 64 && !user(p, 16 * PAGE, &hu) && !store(hu, p, p + 3, k) && p[3] == (u32)k);
    munmap(at, 64 * PAGE), munmap(p, 16 * PAGE);
    close_object(h), close_object(hu);
  }
}

static void *submits(void *unused) {
  struct Context c = {0};
  CHECK(!ioctl(fd, I915(BOTH, 0x2d, c), &c));
  void *at, *b;
  u32 h = create(PAGE, &at), batch = create(PAGE, &b);
  for (u32 k = 1; k <= 200; k++) {
    u32 words[] = {STORE(at, k), END, 0};
    memcpy(b, words, sizeof words);
    struct Object o[2] = {{.handle = h, .offset = (uintptr_t)at, .flags = 1 << 4}, {.handle = batch, .offset = (uintptr_t)b, .flags = 1 << 4}};
    struct Exec e = {.buffers = (uintptr_t)o, .count = 2, .flags = 1, .rsvd1 = c.id};
    CHECK(!ioctl(fd, I915(_IOC_WRITE, 0x29, e), &e) && !wait_for(batch, -1) && *(volatile u32 *)at == k);
  }
  u32 d[2] = {c.id, 0};
  CHECK(!ioctl(fd, I915(_IOC_WRITE, 0x2e, d), d));
  return unused;
}

static void threads(void) {
  pthread_t t[8];
  for (int k = 0; k < 8; k++) CHECK(!pthread_create(&t[k], 0, submits, 0));
  for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
}

static void waits_for_ever(void) { /* a semaphore that nobody signals; the engine process may go */
  void *at;
  u32 h = create(PAGE, &at);
  u32 words[] = {0x0e00c002, 1, LOW(at), HIGH(at), END, 0};
  puts("waiting");
  fflush(stdout);
  CHECK(!submit(words, sizeof words, 1, &h, &at));
  struct Reset s = {.context = context};
  CHECK(!ioctl(fd, I915(BOTH, 0x32, s), &s) && s.active == 1);
}

static void polls(void) { /* as drivers do: no call tells it that the engine process is not there */
  void *at;
  u32 h = create(PAGE, &at);
  CHECK(!store(h, at, at, 0));
  volatile u32 *word = at;
  u32 words[] = {STORE(at, 5), END, 0};
  CHECK(!submit(words, sizeof words, 1, &h, &at));
  while (*word != 5) usleep(1000);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"answers", answers}, {"created", created}, {"adopted", adopted}, {"moved", moved}, {"exchanged", exchanged}, {"grown", grown},
    {"refused", refused}, {"left_out", left_out}, {"read_only", read_only}, {"written_meanwhile", written_meanwhile}, {"own_faults", own_faults}, {"stack", stack},
    {"forked", forked}, {"forked_meanwhile", forked_meanwhile}, {"hangs", hangs}, {"many", many}, {"threads", threads}, {"waits_for_ever", waits_for_ever}, {"polls", polls}};

int main(int argc, char **argv) {
  open_node();
  for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++)
    if (argc == 2 && !strcmp(argv[1], cases[k].name)) {
      cases[k].run();
      printf("%s ok\n", argv[1]);
      return 0;
    }
  puts("no such case");
  return 2;
}
