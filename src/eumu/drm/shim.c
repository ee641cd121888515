/* The render node of an Intel GPU that is not there, for one process (LD_PRELOAD).
 *
 * It answers for the kernel driver i915: it knows handles, pages and contexts, and nothing of
 * commands.  What is submitted goes to the engine process over a Unix socket (protocol.py), which
 * maps the same pages: all of the device's memory is one sparse memfd.  What the engine has done
 * comes back through a shared page of counters.
 *
 * Memory.  Objects of GEM_CREATE are pieces of the memfd.  USERPTR names pages that the program
 * has already: they are copied to the memfd once and mapped over themselves, so that both
 * processes see the same bytes from then on.  Before a fork they become private again.
 *
 * The numbers and layouts are those of Linux's drm.h and i915_drm.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../cc/peer.h"
#include "shim.h"

#define VERSION 3 /* of the protocol; protocol.py has the same */
#define PAGE 4096ull
#define DIRECTORY "/dev/dri"
#define NODE DIRECTORY "/renderD128"
#define ADDRESS_BITS 47
#define VULKAN_BITS 40 /* anv chooses addresses itself, near the top of what there is */
#define OWN_END (1ull << 46)                  /* the file before: objects of GEM_CREATE */
#define ADOPTED(epoch) ((1ull + (epoch)) << 47) /* from here on: user pages, by their addresses */
#define EPOCHS 64ull
#define CONTEXTS 1024u
#define RECLAIM (64ull << 20) /* bytes of user pages that were let go before files are looked at */

/* ---- what the engine process and this file share */

struct Facts { /* the answer to the greeting: the part that is played */
  uint32_t version, chip, revision, slices, subslices, eus, hertz, pooled_eus;
  uint64_t memory_bytes;
};
struct Progress { /* of a context: sequence numbers, and how often this file has told of a hang */
  _Atomic uint64_t done, faulted, told, unused;
};
struct Control { _Atomic uint32_t event, unused[15]; struct Progress contexts[CONTEXTS]; };
struct Head { uint32_t size, kind; };
enum { SUBMIT = 1, CREATED = 2, DESTROYED = 3, BUILT = 4 };
struct Submit { struct Head head; uint32_t context, objects; uint64_t sequence, batch; };
struct SubmitObject { uint32_t handle, segments; uint64_t address, size, wanted; };
struct Built { struct Head head; uint64_t source_size; }; /* then the source, then the binary */
#define MOST_BYTES (64u << 20) /* of a message */
struct Segment { uint64_t offset, size; };

/* ---- state */

struct Use { uint32_t context; uint64_t sequence; };
enum { FREE, LIVE, DYING };
struct Object {
  int state;
  uint64_t size, user; /* user: the address of user pages, or 0 */
  uint64_t wanted;     /* bytes that the program asked for; 0 where nobody knows */
  uint64_t listed;     /* the last submission that names it, by `listings` */
  uint32_t segments, uses, tiling, stride;
  struct Segment *segment;
  struct Use *use; /* the last submission of each context that has it */
};
struct Context { int is_live; uint64_t first, last; }; /* first sequence number, the last one */
struct Area { uint64_t start, end, offset; int prot, is_ours, is_shared, is_stack; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int node = -1, memory = -1, engine = -1; /* file descriptors */
static dev_t node_device, memory_device;
static ino_t node_inode, memory_inode;
static struct Facts facts;
static struct Control *control;
static uint64_t own_next = PAGE, let_go;
static struct Object *objects;
static uint32_t object_count = 1, object_room; /* handle 0 is none */
static struct Context contexts[CONTEXTS];
static struct Area *areas;
static size_t area_count, area_room;
static int is_gone_told, is_low; /* is_low: addresses are the driver's own, of VULKAN_BITS */
static __thread struct { int is_on; uint32_t count, handle[16]; } noted; /* objects for one request */

static int fail(int error) { errno = error; return -1; }

/* Memory for lists here; a process without memory cannot go on in the middle of an ioctl. */
static void *grow(void *old, size_t bytes) {
  void *made = realloc(old, bytes);
  if (!made) { say("eumu: no memory for the list of GPU objects\n"); abort(); }
  return made;
}

/* What drivers do not look at, people are told, once each. */
static void tell_once(unsigned kind, const char *format, ...) {
  static unsigned told;
  char text[300];
  va_list list;
  if (told & 1u << kind) return;
  told |= 1u << kind;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  say(text);
}

/* Linux's calls by number: the names are interposed below. */
static void *map(void *at, size_t size, int prot, int flags, int fd, uint64_t offset) {
  return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

static int is_node(int fd) {
  struct stat s;
  if (node < 0 || fd < 0 || syscall(SYS_fstat, fd, &s)) return 0;
  return s.st_ino == node_inode && s.st_dev == node_device;
}

/* ---- the engine process */

static int is_gone(void) {
  char c;
  if (is_gone_told) return 1; /* what has been said stays true */
  ssize_t n = engine < 0 ? 0 : recv(engine, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  int gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
  if (gone && !is_gone_told) { is_gone_told = 1; say("eumu: the engine process has ended; the GPU hangs from now on\n"); }
  return gone;
}

static int is_done(struct Use use) { return atomic_load(&control->contexts[use.context].done) >= use.sequence; }

/* Whether nobody is to wait for it any longer: a hang is known before what ends waits is written. */
static int is_over(struct Use use) {
  return is_done(use) || atomic_load(&control->contexts[use.context].faulted) >= use.sequence || is_gone();
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Wait until a submission has ended or the engine has; ETIME after `timeout` ns, never if < 0. */
static int wait_for(struct Use use, int64_t timeout) {
  uint64_t begun = now_ns();
  for (;;) {
    uint32_t seen = atomic_load(&control->event);
    if (is_over(use)) return 0;
    uint64_t slice = 50000000;
    if (timeout >= 0) {
      uint64_t past = now_ns() - begun;
      if (past >= (uint64_t)timeout) return fail(ETIME);
      if ((uint64_t)timeout - past < slice) slice = timeout - past;
    }
    struct timespec t = {0, slice};
    syscall(SYS_futex, &control->event, FUTEX_WAIT, seen, &t, 0, 0);
  }
}

static int greet(const char *path, int control_fd) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof name.sun_path) return -1;
  strcpy(name.sun_path, path);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) return -1;
  engine = fcntl(s, F_DUPFD_CLOEXEC, 700); /* away from the numbers that programs close */
  is_gone_told = 0;
  close(s);
  if (engine < 0 || connect(engine, (void *)&name, sizeof name)) return -1;
  is_low = is_vulkan();
  struct { char magic[8]; uint32_t version, is_low; } hello = {{'e', 'u', 'm', 'u', '-', 'd', 'r', 'm'}, VERSION, is_low};
  int fds[2] = {memory, control_fd};
  char room[CMSG_SPACE(sizeof fds)] = {0};
  struct iovec part = {&hello, sizeof hello};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(head), fds, sizeof fds);
  if (sendmsg(engine, &message, MSG_NOSIGNAL) != sizeof hello) return -1;
  return transfer(engine, &facts, sizeof facts, 0) || facts.version != VERSION ? -1 : 0;
}

static int high_memfd(const char *name, uint64_t size) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
  close(fd);
  if (high < 0 || ftruncate(high, size) || fcntl(high, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) return -1;
  return high;
}

static void before_fork(void);
static void after_fork_parent(void);
static void after_fork_child(void);

/* Make the node and meet the engine; under the lock.  0, or -1 with a message for people. */
static int begin(void) {
  static int has_handlers;
  const char *path = getenv("EUMU_DRM_SOCKET");
  if (node >= 0) return 0;
  if (!path) return -1;
  int control_fd = high_memfd("eumu-control", sizeof(struct Control));
  memory = high_memfd("eumu-gpu-memory", ADOPTED(EPOCHS));
  int made = memfd_create("eumu-render-node", MFD_CLOEXEC);
  if (control_fd < 0 || memory < 0 || made < 0 || greet(path, control_fd)) {
    say("eumu: the engine process does not answer; there is no GPU\n");
    return -1;
  }
  control = map(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, control_fd, 0);
  close(control_fd);
  if (control == MAP_FAILED) return -1;
  struct stat s;
  syscall(SYS_fstat, memory, &s);
  memory_inode = s.st_ino, memory_device = s.st_dev;
  syscall(SYS_fstat, made, &s);
  node_inode = s.st_ino, node_device = s.st_dev;
  node = fcntl(made, F_DUPFD_CLOEXEC, 700);
  close(made);
  if (!has_handlers) pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  has_handlers = 1;
  return 0;
}

static int open_node(void) {
  pthread_mutex_lock(&lock);
  int fd = begin() ? fail(ENODEV) : fcntl(node, F_DUPFD_CLOEXEC, 3);
  pthread_mutex_unlock(&lock);
  return fd;
}

/* ---- objects */

static struct Object *object_of(uint32_t handle) {
  return handle && handle < object_count && objects[handle].state == LIVE ? &objects[handle] : 0;
}

static uint32_t new_object(uint64_t size) {
  uint32_t handle = 1;
  while (handle < object_count && objects[handle].state != FREE) handle++;
  if (handle >= object_room) {
    object_room = object_room ? 2 * object_room : 256;
    objects = grow(objects, object_room * sizeof *objects);
  }
  if (handle >= object_count) object_count = handle + 1;
  objects[handle] = (struct Object){.state = LIVE, .size = size};
  return handle;
}

static void add_segment(struct Object *o, uint64_t offset, uint64_t size) {
  if (o->segments && o->segment[o->segments - 1].offset + o->segment[o->segments - 1].size == offset) {
    o->segment[o->segments - 1].size += size;
    return;
  }
  o->segment = grow(o->segment, (o->segments + 1) * sizeof *o->segment);
  o->segment[o->segments++] = (struct Segment){offset, size};
}

static int is_busy(const struct Object *o) {
  for (uint32_t k = 0; k < o->uses; k++)
    if (!is_done(o->use[k]) && !is_gone()) return 1;
  return 0;
}

static void punch(uint64_t offset, uint64_t size) {
  fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
}

static void free_object(struct Object *o) {
  if (!o->user)
    for (uint32_t k = 0; k < o->segments; k++) punch(o->segment[k].offset, o->segment[k].size);
  else let_go += o->size;
  free(o->segment);
  free(o->use);
  *o = (struct Object){.state = FREE};
}

/* Objects that were closed while a submission had them live until it has ended. */
static void reap(void) {
  for (uint32_t h = 1; h < object_count; h++)
    if (objects[h].state == DYING && !is_busy(&objects[h])) free_object(&objects[h]);
  while (object_count > 1 && objects[object_count - 1].state == FREE) object_count--;
}

static int create(uint64_t *size, uint32_t *handle) {
  if (!*size || *size > facts.memory_bytes) return fail(*size ? ENOMEM : EINVAL);
  uint64_t bytes = (*size + PAGE - 1) & -PAGE;
  if (own_next + bytes + PAGE > OWN_END) return fail(ENOMEM);
  *size = bytes;
  *handle = new_object(bytes);
  add_segment(&objects[*handle], own_next, bytes);
  own_next += bytes + PAGE;
  if (noted.is_on && noted.count < sizeof noted.handle / sizeof *noted.handle) noted.handle[noted.count++] = *handle;
  return 0;
}

void begin_noting(void) { noted.is_on = 1, noted.count = 0; }

/* The object of a request is the only one that has its size, rounded as drivers round. */
void end_noting(size_t size) {
  const uint64_t rounding = 128 << 10;
  struct Object *found = 0;
  int matches = 0;
  noted.is_on = 0;
  if (!size || !noted.count) return;
  pthread_mutex_lock(&lock);
  for (uint32_t k = 0; k < noted.count; k++) {
    struct Object *o = object_of(noted.handle[k]);
    if (o && size <= o->size && o->size - size < rounding) found = o, matches++;
  }
  if (matches == 1) found->wanted = size;
  pthread_mutex_unlock(&lock);
}

/* ---- user pages */

static int open_maps(void) { return syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC); }

static void read_areas(void) {
  static char *text;
  static size_t room;
  size_t length = 0;
  ssize_t n;
  int fd = open_maps();
  if (!text) text = grow(0, room = 1 << 16);
  while ((n = read(fd, text + length, room - length - 1)) > 0) {
    length += n;
    if (room - length < 8192) text = grow(text, room *= 2);
  }
  close(fd);
  text[length] = 0;
  area_count = 0;
  for (char *line = text; *line;) {
    char *p, *end = strchr(line, '\n');
    if (!end) break;
    *end = 0;
    struct Area a = {.start = strtoull(line, &p, 16)};
    a.end = strtoull(p + 1, &p, 16);
    a.prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) | (p[3] == 'x' ? PROT_EXEC : 0);
    a.is_shared = p[4] == 's';
    a.offset = strtoull(p + 6, &p, 16);
    unsigned long major = strtoul(p + 1, &p, 16), minor = strtoul(p + 1, &p, 16);
    unsigned long long inode = strtoull(p, &p, 10);
    a.is_stack = strstr(p, "[stack") != 0;
    a.is_ours = inode == memory_inode && major == ((memory_device >> 8) & 0xfff) && minor == (memory_device & 0xff) && strstr(p, "/memfd:eumu-gpu-memory");
    if (area_count == area_room) areas = grow(areas, (area_room = area_room ? 2 * area_room : 512) * sizeof *areas);
    areas[area_count++] = a;
    line = end + 1;
  }
}

/* Linux 6.11 and later answer for one mapping; the whole list costs 0.1 ms of a launch. */
struct MapQuery {
  uint64_t size, flags, address, start, end, protection, page_size, offset, inode;
  uint32_t major, minor, name_size, id_size;
  uint64_t name, id;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct MapQuery)

/* Whether the pages of an object of user pages are those that it had: no need to read_areas. */
static int is_as_it_was(int maps, const struct Object *o) {
  uint64_t at = o->user;
  for (uint32_t k = 0; k < o->segments; k++)
    for (uint64_t past = 0; past < o->segment[k].size;) {
      struct MapQuery q = {.size = sizeof q, .address = at};
      if (maps < 0 || syscall(SYS_ioctl, maps, PROCMAP_QUERY, &q)) return 0;
      if (q.inode != memory_inode || q.major != major(memory_device) || q.minor != minor(memory_device)) return 0;
      if (q.offset + (at - q.start) != o->segment[k].offset + past) return 0;
      uint64_t left = o->segment[k].size - past, size = q.end - at < left ? q.end - at : left;
      past += size, at += size;
    }
  return at == o->user + o->size; /* one that could not be adopted has none */
}

struct Replacing { uint64_t at, size, offset; int prot, is_stack, is_private, error; };
static struct Replacing replacing;

/* Move the pages to the file, or from there to private memory; nothing here uses the old stack. */
static void replace(void) {
  struct Replacing *r = &replacing;
  void *at = (void *)(uintptr_t)r->at, *spare = MAP_FAILED;
  r->error = 0;
  if (r->is_private) {
    spare = map(0, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (spare == MAP_FAILED) { r->error = ENOMEM; return; }
  }
  int guards = !r->is_stack && r->prot & PROT_WRITE;
  if (guards) {
    open_window(r->at, r->size);
    mprotect(at, r->size, r->prot & ~PROT_WRITE);
  }
  if (r->is_private) {
    memcpy(spare, at, r->size);
    if (!(r->prot & PROT_WRITE) || r->prot & PROT_EXEC) mprotect(spare, r->size, r->prot);
    if ((void *)syscall(SYS_mremap, spare, r->size, r->size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) r->error = errno;
  } else {
    for (uint64_t done = 0; done < r->size && !r->error;) {
      ssize_t n = pwrite(memory, (char *)at + done, r->size - done, r->offset + done);
      if (n <= 0) r->error = n < 0 ? errno : EFAULT; else done += n;
    }
    if (!r->error && map(at, r->size, r->prot, MAP_SHARED | MAP_FIXED, memory, r->offset) == MAP_FAILED) r->error = errno;
  }
  if (guards) {
    if (r->error) mprotect(at, r->size, r->prot);
    close_window();
  }
}

/* The caller's own stack may be among the pages: this runs on another one. */
static int replace_aside(struct Replacing what) {
  static ucontext_t here, there;
  static void *stack;
  const size_t size = 256 << 10;
  if (!stack) stack = map(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) { stack = 0; return ENOMEM; }
  replacing = what;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = size;
  there.uc_link = &here;
  makecontext(&there, replace, 0);
  swapcontext(&here, &there);
  return replacing.error;
}

/* Whether nothing has these bytes of the file: no mapping of the program, no object. */
static int is_unused(uint64_t offset, uint64_t size) {
  for (size_t k = 0; k < area_count; k++)
    if (areas[k].is_ours && areas[k].offset < offset + size && offset < areas[k].offset + areas[k].end - areas[k].start) return 0;
  for (uint32_t h = 1; h < object_count; h++)
    for (uint32_t k = 0; objects[h].state != FREE && objects[h].user && k < objects[h].segments; k++)
      if (objects[h].segment[k].offset < offset + size && offset < objects[h].segment[k].offset + objects[h].segment[k].size) return 0;
  return 1;
}

/* Pages keep their addresses in the file: neighbours stay together, and one that grows in place
 * (mremap) grows into its own part of the file.  A part that is in use leads to the next epoch. */
static int adopt_area(struct Object *o, const struct Area *a, uint64_t start, uint64_t end) {
  if (a->is_shared || !(a->prot & PROT_READ)) return EFAULT;
  for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
    uint64_t offset = ADOPTED(epoch) + start;
    if (!is_unused(offset, end - start)) continue;
    struct Replacing what = {start, end - start, offset, a->prot, a->is_stack, 0, 0};
    int error = replace_aside(what);
    if (!error) add_segment(o, offset, end - start);
    return error;
  }
  return ENOMEM;
}

/* The segments of an object of user pages, whatever is mapped there now.  After read_areas. */
static int adopt(struct Object *o) {
  uint64_t at = o->user, end = at + o->size;
  size_t low = 0, high = area_count;
  int moved = 0;
  struct Segment *old = o->segment;
  uint32_t count = o->segments;
  o->segments = 0, o->segment = 0;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (areas[middle].end <= at) low = middle + 1; else high = middle;
  }
  for (size_t k = low; at < end; k++) {
    if (k >= area_count || areas[k].start > at) { free(old); return EFAULT; }
    uint64_t stop = areas[k].end < end ? areas[k].end : end;
    if (areas[k].is_ours) add_segment(o, areas[k].offset + (at - areas[k].start), stop - at);
    else {
      int error = adopt_area(o, &areas[k], at, stop);
      if (error) { free(old); return error; }
      moved = 1;
    }
    at = stop;
  }
  if (old && (count != o->segments || memcmp(old, o->segment, count * sizeof *old))) let_go += o->size;
  free(old);
  if (moved) read_areas();
  return 0;
}

static int by_offset(const void *a, const void *b) {
  const struct Segment *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Give back user pages that neither a mapping nor an object has.  After read_areas. */
static void reclaim(void) {
  size_t count = 0, room = area_count + 1;
  for (uint32_t h = 1; h < object_count; h++) room += objects[h].segments;
  struct Segment *used = grow(0, room * sizeof *used);
  for (size_t k = 0; k < area_count; k++)
    if (areas[k].is_ours) used[count++] = (struct Segment){areas[k].offset, areas[k].end - areas[k].start};
  for (uint32_t h = 1; h < object_count; h++)
    for (uint32_t k = 0; objects[h].state != FREE && k < objects[h].segments; k++) used[count++] = objects[h].segment[k];
  used[count++] = (struct Segment){ADOPTED(EPOCHS), 0};
  qsort(used, count, sizeof *used, by_offset);
  uint64_t at = ADOPTED(0);
  for (size_t k = 0; k < count; k++) {
    uint64_t gap = used[k].offset, next = used[k].offset + used[k].size;
    if (gap > at) {
      off_t data = lseek(memory, at, SEEK_DATA);
      if (data >= 0 && (uint64_t)data < gap) punch(data, gap - data);
    }
    if (next > at) at = next;
  }
  free(used);
  let_go = 0;
}

static int user_pages(uint64_t address, uint64_t size, uint32_t flags, uint32_t *handle) {
  if (address % PAGE || size % PAGE || !size || flags & ~0x80000003u) return fail(EINVAL);
  if (address >> ADDRESS_BITS || (address + size) >> ADDRESS_BITS || address + size < address) return fail(EFAULT);
  read_areas();
  if (let_go >= RECLAIM) reclaim();
  uint32_t made = new_object(size);
  objects[made].user = address;
  int error = adopt(&objects[made]);
  if (error) { free_object(&objects[made]); return fail(error); }
  *handle = made;
  return 0;
}

/* ---- fork: the child gets private copies, and no GPU until it opens the node itself */

/* Whether a submission that has not ended may write to these bytes of the file. */
static int is_worked_on(uint64_t offset, uint64_t size) {
  for (uint32_t h = 1; h < object_count; h++)
    for (uint32_t k = 0; objects[h].state != FREE && k < objects[h].segments; k++)
      if (objects[h].segment[k].offset < offset + size && offset < objects[h].segment[k].offset + objects[h].segment[k].size && is_busy(&objects[h])) return 1;
  return 0;
}

static void before_fork(void) {
  pthread_mutex_lock(&lock);
  if (node < 0) return;
  for (uint32_t c = 0; c < CONTEXTS; c++)
    if (contexts[c].is_live) wait_for((struct Use){c, contexts[c].last}, 2000000000ll);
  read_areas();
  for (size_t k = 0; k < area_count; k++)
    if (areas[k].is_ours && areas[k].offset >= ADOPTED(0)) {
      struct Replacing what = {areas[k].start, areas[k].end - areas[k].start, 0, areas[k].prot, areas[k].is_stack, 1, 0};
      const char *why = is_worked_on(areas[k].offset, what.size) ? "the GPU works on them" : replace_aside(what) ? "no memory" : 0;
      if (why) tell_once(2, "eumu: pages of the GPU stay shared with a child process: %s\n", why);
    }
}

static void after_fork_parent(void) { pthread_mutex_unlock(&lock); }

static void after_fork_child(void) {
  if (node >= 0) {
    close(node), close(memory), close(engine);
    munmap(control, sizeof *control);
    for (uint32_t h = 1; h < object_count; h++) free(objects[h].segment), free(objects[h].use);
    memset(contexts, 0, sizeof contexts);
    object_count = 1, own_next = PAGE, let_go = 0, is_gone_told = 0;
    node = memory = engine = -1;
  }
  pthread_mutex_unlock(&lock);
}

/* ---- submission */

struct ExecObject { uint32_t handle, relocations; uint64_t relocs, alignment, offset, flags, rsvd1, rsvd2; };
struct Exec {
  uint64_t buffers;
  uint32_t count, start, length, dr1, dr4, cliprects;
  uint64_t cliprects_pointer, flags, rsvd1, rsvd2;
};
#define PINNED (1u << 4)
#define BATCH_FIRST (1u << 18)
#define FENCE_ARRAY (1u << 19)
#define FENCES (1u << 16 | 1u << 17 | 1u << 20 | 1u << 21) /* in, out, submit, extensions */

static void note_use(struct Object *o, struct Use use) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < o->uses; k++)
    if (o->use[k].context != use.context && !is_done(o->use[k])) o->use[kept++] = o->use[k];
  o->use = grow(o->use, (kept + 1) * sizeof *o->use);
  o->use[kept] = use;
  o->uses = kept + 1;
}

/* What a submission lists, each object once and those that are there.  Intel's Level Zero driver
 * lists an allocation twice that is an argument and may be reached through pointers; i915 has let
 * that pass since Linux 5.7.  And a driver may have closed an object that it lists, when another
 * thread frees memory: i915 refuses such a submission, Intel's driver goes on, and the work is lost. */
static uint32_t listed_objects(const struct ExecObject *x, uint32_t count, uint32_t *kept) {
  static uint64_t listings;
  uint32_t many = 0;
  listings++;
  for (uint32_t k = 0; k < count; k++) {
    struct Object *o = object_of(x[k].handle);
    if (!o)
      tell_once(0, "eumu: the driver submits object %d, which it has closed; that is left out here. i915 refuses such a submission, and its work is lost\n", (int)x[k].handle);
    if (!o || o->listed == listings) continue;
    o->listed = listings;
    kept[many++] = k;
  }
  return many;
}

static int exec_objects(const struct ExecObject *x, const uint32_t *kept, uint32_t many) {
  int has_areas = 0, maps = -1, error = 0;
  for (uint32_t k = 0; k < many && !error; k++) {
    const struct ExecObject *listed = &x[kept[k]];
    struct Object *o = object_of(listed->handle);
    uint64_t at = listed->offset & ((1ull << 48) - 1);
    if (!(listed->flags & PINNED) || listed->relocations || at % PAGE || (at + o->size) >> ADDRESS_BITS) error = EINVAL;
    if (error || !o->user) continue;
    /* the pages of an address may have changed since the object was made */
    if (!has_areas && maps < 0) maps = open_maps();
    if (!has_areas && is_as_it_was(maps, o)) continue;
    if (!has_areas) read_areas();
    has_areas = 1;
    error = adopt(o);
  }
  if (maps >= 0) close(maps);
  if (error) return fail(error);
  if (let_go < RECLAIM) return 0;
  if (!has_areas) read_areas();
  reclaim();
  return 0;
}

/* ---- synchronisation objects: the submission that signals one, or that it is signalled */

#define SYNCS 65536u
enum { SYNC_FREE, SYNC_UNSET, SYNC_SUBMITTED, SYNC_SIGNALLED };
struct Sync { int state; struct Use use; };
static struct Sync *syncs;
static uint32_t sync_count = 1;

static struct Sync *sync_of(uint32_t handle) {
  return handle && handle < sync_count && syncs[handle].state != SYNC_FREE ? &syncs[handle] : 0;
}

static int create_sync(uint32_t *handle, uint32_t flags) {
  uint32_t h = 1;
  while (h < sync_count && syncs[h].state != SYNC_FREE) h++;
  if (h >= SYNCS) return fail(ENOMEM);
  if (h == sync_count || !syncs) syncs = grow(syncs, ++sync_count * sizeof *syncs);
  syncs[h] = (struct Sync){.state = flags & 1 ? SYNC_SIGNALLED : SYNC_UNSET};
  *handle = h;
  return 0;
}

static int set_syncs(const uint32_t *handles, uint32_t count, int state) {
  for (uint32_t k = 0; k < count; k++) if (!sync_of(handles[k])) return fail(ENOENT);
  for (uint32_t k = 0; k < count; k++) syncs[handles[k]].state = state;
  return 0;
}

static int is_signalled(const struct Sync *s) {
  return s->state == SYNC_SIGNALLED || (s->state == SYNC_SUBMITTED && is_over(s->use));
}

struct SyncWait { uint64_t handles; int64_t until; uint32_t count, flags, first, pad; };
#define WAIT_ALL 1u
#define WAIT_FOR_SUBMIT 2u

/* Lets the lock go between looks: other threads submit what the wait is for. */
static int wait_syncs(struct SyncWait *w) {
  const uint32_t *handles = (const void *)(uintptr_t)w->handles;
  for (;;) {
    uint32_t seen = atomic_load(&control->event), signalled = 0;
    for (uint32_t k = 0; k < w->count; k++) {
      const struct Sync *s = sync_of(handles[k]);
      if (!s) return fail(ENOENT);
      if (s->state == SYNC_UNSET && !(w->flags & WAIT_FOR_SUBMIT)) return fail(EINVAL);
      if (!is_signalled(s)) continue;
      if (!signalled++) w->first = k;
    }
    if (signalled == w->count || (signalled && !(w->flags & WAIT_ALL))) return 0;
    int64_t left = w->until - (int64_t)now_ns();
    if (left <= 0) return fail(ETIME);
    struct timespec t = {0, left < 5000000 ? left : 5000000};
    pthread_mutex_unlock(&lock);
    syscall(SYS_futex, &control->event, FUTEX_WAIT, seen, &t, 0, 0);
    pthread_mutex_lock(&lock);
  }
}

struct Fence { uint32_t handle, flags; };

/* The fences of a submission before it: those that it waits for. */
static int wait_fences(const struct Exec *e) {
  const struct Fence *f = (const void *)(uintptr_t)e->cliprects_pointer;
  for (uint32_t k = 0; e->flags & FENCE_ARRAY && k < e->cliprects; k++) {
    if (!sync_of(f[k].handle)) return fail(ENOENT);
    struct SyncWait w = {(uintptr_t)&f[k].handle, INT64_MAX, 1, WAIT_ALL, 0, 0};
    if (f[k].flags & 1 && wait_syncs(&w)) return -1;
  }
  return 0;
}

/* And behind it: those that it signals. */
static void signal_fences(const struct Exec *e, struct Use use) {
  const struct Fence *f = (const void *)(uintptr_t)e->cliprects_pointer;
  for (uint32_t k = 0; e->flags & FENCE_ARRAY && k < e->cliprects; k++)
    if (f[k].flags & 2 && sync_of(f[k].handle)) syncs[f[k].handle] = (struct Sync){SYNC_SUBMITTED, use};
}

static int submit(const struct Exec *e, uint32_t context, const uint32_t *kept, uint32_t many) {
  static char *buffer;
  static size_t room;
  const struct ExecObject *x = (const void *)(uintptr_t)e->buffers;
  size_t size = sizeof(struct Submit);
  for (uint32_t k = 0; k < many; k++)
    size += sizeof(struct SubmitObject) + object_of(x[kept[k]].handle)->segments * sizeof(struct Segment);
  if (size > room) buffer = grow(buffer, room = 2 * size);
  const struct ExecObject *batch = &x[e->flags & BATCH_FIRST ? 0 : e->count - 1];
  struct Use use = {context, ++contexts[context].last};
  struct Submit head = {{size, SUBMIT}, context, many, use.sequence, (batch->offset & ((1ull << 48) - 1)) + e->start};
  memcpy(buffer, &head, sizeof head);
  char *out = buffer + sizeof head;
  for (uint32_t k = 0; k < many; k++) {
    const struct ExecObject *listed = &x[kept[k]];
    struct Object *o = object_of(listed->handle);
    struct SubmitObject entry = {listed->handle, o->segments, listed->offset & ((1ull << 48) - 1), o->size, o->wanted};
    memcpy(out, &entry, sizeof entry);
    memcpy(out + sizeof entry, o->segment, o->segments * sizeof *o->segment);
    out += sizeof entry + o->segments * sizeof *o->segment;
    note_use(o, use);
  }
  signal_fences(e, use);
  /* What cannot be sent as the engine process has ended shows as a hang, as on hardware; else nobody would end it. */
  if (!is_gone() && transfer(engine, buffer, size, 1) && !is_gone()) {
    say("eumu: a submission does not get to the engine process\n");
    abort();
  }
  return 0;
}

static int exec(const struct Exec *e) {
  static uint32_t *kept;
  static uint32_t room;
  uint32_t context = e->rsvd1 & 0xffffffff, count = e->count;
  const struct ExecObject *x = (const void *)(uintptr_t)e->buffers;
  if (!count || count > 1u << 20 || e->flags & FENCES || (e->flags & 63) > 1) return fail(EINVAL);
  if (context >= CONTEXTS || !contexts[context].is_live) return fail(ENOENT);
  if (!object_of(x[e->flags & BATCH_FIRST ? 0 : count - 1].handle)) return fail(ENOENT);
  if (wait_fences(e)) return -1;
  if (count > room) kept = grow(kept, (room = 2 * count) * sizeof *kept);
  uint32_t many = listed_objects(x, count, kept);
  if (exec_objects(x, kept, many)) {
    int error = errno;
    tell_once(1, "eumu: a submission is refused (%s), and its work is lost, as with i915; drivers do not tell programs of it\n", strerror(error));
    return fail(error);
  }
  return submit(e, context, kept, many);
}

/* ---- contexts */

static int tell(uint32_t kind, uint32_t context) {
  struct { struct Head head; uint32_t context, unused; } message = {{16, kind}, context, 0};
  return is_gone() ? 0 : transfer(engine, &message, sizeof message, 1);
}

void send_program(const void *source, size_t source_size, const void *binary, size_t binary_size) {
  size_t size = sizeof(struct Built) + source_size + binary_size;
  if (size > MOST_BYTES) return;
  struct Built head = {{size, BUILT}, source_size};
  pthread_mutex_lock(&lock);
  if (node >= 0 && !is_gone() && !transfer(engine, &head, sizeof head, 1) && !transfer(engine, (void *)source, source_size, 1))
    transfer(engine, (void *)binary, binary_size, 1);
  pthread_mutex_unlock(&lock);
}

static int create_context(uint32_t *id) {
  for (uint32_t c = 1; c < CONTEXTS; c++)
    if (!contexts[c].is_live && is_done((struct Use){c, contexts[c].last})) {
      contexts[c].is_live = 1;
      contexts[c].first = contexts[c].last + 1;
      *id = c;
      tell(CREATED, c);
      return 0;
    }
  return fail(ENOMEM);
}

static int is_context(uint32_t c) { return c < CONTEXTS && contexts[c].is_live; }

struct ContextParam { uint32_t context, size; uint64_t param, value; };
struct Sseu { uint16_t class, instance; uint32_t flags; uint64_t slices, subslices; uint16_t least, most; uint32_t rsvd; };
enum { PARAM_BAN = 1, PARAM_GTT_SIZE = 3, PARAM_PRIORITY = 6, PARAM_SSEU = 7, PARAM_RECOVERABLE = 8, PARAM_VM = 9, PARAM_ENGINES = 10, PARAM_PERSISTENCE = 11 };

static int get_context_param(struct ContextParam *p) {
  if (p->context && !is_context(p->context)) return fail(ENOENT);
  switch (p->param) {
  case PARAM_GTT_SIZE: p->value = 1ull << (is_low ? VULKAN_BITS : ADDRESS_BITS); return 0;
  case PARAM_RECOVERABLE: case PARAM_PERSISTENCE: case PARAM_VM: p->value = 1; return 0;
  case PARAM_PRIORITY: p->value = 0; return 0;
  case PARAM_SSEU: {
    struct Sseu sseu = {.slices = (1ull << facts.slices) - 1, .subslices = (1ull << facts.subslices) - 1, .least = facts.eus, .most = facts.eus};
    if (p->size && p->size < sizeof sseu) return fail(EINVAL);
    if (p->size) memcpy((void *)(uintptr_t)p->value, &sseu, sizeof sseu);
    p->size = sizeof sseu;
    return 0;
  }
  }
  return fail(EINVAL);
}

/* Priorities, banning and slices change nothing here: work is done in order, on all units. */
static int set_context_param(const struct ContextParam *p) {
  if (p->context && !is_context(p->context)) return fail(ENOENT);
  return p->param <= PARAM_PERSISTENCE ? 0 : fail(EINVAL);
}

struct ContextCreate { uint32_t id, flags; uint64_t extensions; };
struct Extension { uint64_t next; uint32_t name, flags, rsvd[4]; };
struct SetParamExtension { struct Extension base; struct ContextParam param; };

static int create_context_with(struct ContextCreate *c, int has_extensions) {
  for (const struct Extension *x = has_extensions && c->flags & 1 ? (void *)(uintptr_t)c->extensions : 0; x; x = (void *)(uintptr_t)x->next)
    if (x->name || ((const struct SetParamExtension *)x)->param.param > PARAM_PERSISTENCE) return fail(EINVAL);
  return create_context(&c->id);
}

struct ResetStats { uint32_t context, flags, resets, active, pending, unused; };

static int reset_stats(struct ResetStats *s) {
  if (s->context && !is_context(s->context)) return fail(ENOENT);
  struct Progress *p = &control->contexts[s->context];
  int hangs = is_gone() || (s->context && atomic_load(&p->faulted) >= contexts[s->context].first);
  if (hangs) atomic_fetch_add(&p->told, 1);
  s->resets = s->pending = 0;
  s->active = hangs;
  return 0;
}

/* ---- queries */

static int get_param(int number, int *value) {
  switch (number) {
  case 4: *value = facts.chip; return 0;
  case 32: *value = facts.revision; return 0;
  case 33: *value = facts.subslices * facts.slices; return 0;
  case 34: *value = facts.subslices * facts.slices * facts.eus; return 0;
  case 46: *value = (1 << facts.slices) - 1; return 0;
  case 47: *value = (1 << facts.subslices) - 1; return 0;
  case 51: *value = facts.hertz; return 0;
  case 38: if (!facts.pooled_eus) break; *value = 1; return 0;      /* HAS_POOLED_EU */
  case 39: if (!facts.pooled_eus) break; *value = facts.pooled_eus; return 0;
  case 5: case 8: case 9: case 17: case 19: case 37: *value = 1; return 0; /* GEM, execbuffer 2, LLC, waits, softpin */
  case 18: *value = 3; return 0; /* full page tables */
  case 30: *value = 1; return 0; /* mmap version */
  case 40: *value = 4; return 0; /* mmap_gtt version: MMAP_OFFSET */
  case 41: *value = 7; return 0; /* scheduler: enabled, priorities, preemption */
  }
  if (is_low) switch (number) {
  case 25: case 26: case 43: case 44: case 45: case 48: case 49: case 50: case 52: *value = 1; return 0; /* of execbuffer 2: no relocations, a table of handles, async, fences, capture, batch first, array of fences; isolated contexts, coherent pages */
  }
  return fail(EINVAL);
}

struct Item { uint64_t id; int32_t length; uint32_t flags; uint64_t data; };

static void answer_item(struct Item *item, const void *data, int32_t size) {
  if (item->length && item->length < size) { item->length = -EINVAL; return; }
  if (item->length) memcpy((void *)(uintptr_t)item->data, data, size);
  item->length = size;
}

static void query_topology(struct Item *item) {
  struct { uint16_t flags, slices, subslices, eus, subslice_at, subslice_step, eu_at, eu_step; uint8_t masks[64]; } t = {
      .slices = facts.slices, .subslices = facts.subslices, .eus = facts.eus,
      .subslice_at = 1, .subslice_step = 1, .eu_at = 1 + facts.slices, .eu_step = 1};
  uint8_t *mask = t.masks;
  *mask++ = (1u << facts.slices) - 1;
  for (uint32_t s = 0; s < facts.slices; s++) *mask++ = (1u << facts.subslices) - 1;
  for (uint32_t s = 0; s < facts.slices * facts.subslices; s++) *mask++ = (1u << facts.eus) - 1;
  answer_item(item, &t, 16 + (mask - t.masks));
}

static void query_engines(struct Item *item) {
  struct { uint32_t count, rsvd[3]; struct { uint16_t class, instance; uint32_t rsvd0; uint64_t flags, capabilities; uint16_t logical, rsvd1[3]; uint64_t rsvd2[3]; } engine[1]; } e = {.count = 1};
  answer_item(item, &e, sizeof e); /* the render engine alone */
}

static void query_regions(struct Item *item) {
  struct { uint32_t count, rsvd[3]; struct { uint16_t class, instance; uint32_t rsvd0; uint64_t bytes, left, rsvd1[8]; } region[1]; } m = {.count = 1};
  m.region[0].bytes = m.region[0].left = facts.memory_bytes;
  answer_item(item, &m, sizeof m);
}

static int query(struct Item *item, uint32_t count) {
  for (; count; count--, item++)
    switch (item->id) {
    case 1: query_topology(item); break;
    case 2: query_engines(item); break;
    case 4: query_regions(item); break;
    default: item->length = -EINVAL;
    }
  return 0;
}

struct Version { int major, minor, patch; size_t name_size; char *name; size_t date_size; char *date; size_t text_size; char *text; };

static void put(const char *text, char *to, size_t *size) {
  if (to && *size) strncpy(to, text, *size);
  *size = strlen(text);
}

static int version(struct Version *v) {
  v->major = 1, v->minor = 6, v->patch = 0;
  put("i915", v->name, &v->name_size);
  put("20201103", v->date, &v->date_size);
  put("Intel Graphics", v->text, &v->text_size);
  return 0;
}

/* The time as the GPU's 36 bits, which command buffers read from the same register. */
static int read_register(uint64_t offset, uint64_t *value) {
  if ((offset & ~1ull) != 0x2358) return fail(EINVAL);
  *value = (uint64_t)((unsigned __int128)now_ns() * facts.hertz / 1000000000u) & ((1ull << 36) - 1);
  return 0;
}

/* ---- ioctl */

struct Mmap { uint32_t handle, pad; uint64_t offset, size, address, flags; };
struct MmapOffset { uint32_t handle, pad; uint64_t offset; };
struct Pages { uint32_t handle, pad; uint64_t offset, size, data; };
struct CreateExt { uint64_t size; uint32_t handle, flags; uint64_t extensions; };
struct UserPages { uint64_t address, size; uint32_t flags, handle; };

static int map_object(struct Mmap *m) {
  struct Object *o = object_of(m->handle);
  if (!o || o->user) return fail(ENOENT);
  if (m->offset % PAGE || m->offset > o->size || m->size > o->size - m->offset) return fail(EINVAL);
  void *at = map(0, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, o->segment[0].offset + m->offset);
  if (at == MAP_FAILED) return -1;
  m->address = (uintptr_t)at;
  return 0;
}

static int copy_pages(const struct Pages *p, int is_write) {
  struct Object *o = object_of(p->handle);
  if (!o || o->user) return fail(ENOENT);
  if (p->offset > o->size || p->size > o->size - p->offset) return fail(EINVAL);
  void *data = (void *)(uintptr_t)p->data;
  uint64_t at = o->segment[0].offset + p->offset;
  ssize_t n = is_write ? pwrite(memory, data, p->size, at) : pread(memory, data, p->size, at);
  return n == (ssize_t)p->size ? 0 : fail(EFAULT);
}

static int close_object(uint32_t handle) {
  struct Object *o = object_of(handle);
  if (!o) return fail(EINVAL);
  o->state = DYING;
  reap();
  return 0;
}

static int create_with(struct CreateExt *c) {
  for (const struct Extension *x = (void *)(uintptr_t)c->extensions; x; x = (void *)(uintptr_t)x->next)
    if (x->name) return fail(EINVAL); /* 0 is a list of memory regions: there is one */
  return create(&c->size, &c->handle);
}

/* GEM_WAIT lets the lock go: other threads submit what the wait is for. */
static int wait_object(uint32_t handle, int64_t timeout) {
  struct Object *o = object_of(handle);
  if (!o) return fail(ENOENT);
  uint32_t count = o->uses;
  struct Use *uses = grow(0, (count + 1) * sizeof *uses);
  memcpy(uses, o->use, count * sizeof *uses);
  pthread_mutex_unlock(&lock);
  int result = 0;
  for (uint32_t k = 0; k < count && !result; k++) result = wait_for(uses[k], timeout);
  int error = errno;
  pthread_mutex_lock(&lock);
  free(uses);
  return result ? fail(error) : 0;
}

static int busy(uint32_t *a) {
  struct Object *o = object_of(a[0]);
  if (!o) return fail(ENOENT);
  a[1] = 0;
  for (uint32_t k = 0; k < o->uses; k++) a[1] |= !is_over(o->use[k]);
  return 0;
}

static int tiling(uint32_t *a, int sets) {
  struct Object *o = object_of(a[0]);
  if (!o) return fail(ENOENT);
  if (sets) { o->tiling = a[1], o->stride = a[2], a[3] = 0; return 0; }
  a[1] = o->tiling, a[2] = 0, a[3] = 0;
  return 0;
}

#define I915(n) (0x40 + (n))
static int answer(unsigned long request, void *arg) {
  uint32_t *word = arg;
  uint64_t *qword = arg;
  switch (_IOC_NR(request)) {
  case 0x00: return version(arg);
  case 0x09: return close_object(word[0]);
  case 0x0c: qword[1] = qword[0] == 0x13; return 0; /* capabilities: synchronisation objects */
  case 0xbf: return create_sync(word, word[1]);
  case 0xc0: return set_syncs(word, 1, SYNC_FREE);
  case 0xc3: return wait_syncs(arg);
  case 0xc4: return set_syncs((const void *)(uintptr_t)qword[0], word[2], SYNC_UNSET);
  case 0xc5: return set_syncs((const void *)(uintptr_t)qword[0], word[2], SYNC_SIGNALLED);
  case I915(0x06): return get_param(*(int *)arg, *(int **)(qword + 1));
  case I915(0x17): return busy(word);
  case I915(0x1b): return create(qword, word + 2);
  case I915(0x1c): return copy_pages(arg, 0);
  case I915(0x1d): return copy_pages(arg, 1);
  case I915(0x1e): return map_object(arg);
  case I915(0x1f): case I915(0x20): case I915(0x2f): return object_of(word[0]) ? 0 : fail(ENOENT); /* domains, caching: one memory */
  case I915(0x21): return tiling(arg, 1);
  case I915(0x22): return tiling(arg, 0);
  case I915(0x23): qword[0] = qword[1] = facts.memory_bytes; return 0;
  case I915(0x24): { struct MmapOffset *m = arg; struct Object *o = object_of(m->handle); if (!o || o->user) return fail(ENOENT); m->offset = (uint64_t)m->handle << 32; return 0; }
  case I915(0x26): word[2] = 1; return object_of(word[0]) ? 0 : fail(ENOENT);
  case I915(0x29): return exec(arg);
  case I915(0x2c): return wait_object(word[0], *(int64_t *)(qword + 1));
  case I915(0x2d): return create_context_with(arg, _IOC_SIZE(request) >= sizeof(struct ContextCreate));
  case I915(0x2e): if (!is_context(word[0])) return fail(ENOENT); contexts[word[0]].is_live = 0; tell(DESTROYED, word[0]); return 0;
  case I915(0x31): return read_register(qword[0], qword + 1);
  case I915(0x32): return reset_stats(arg);
  case I915(0x33): { struct UserPages *u = arg; return user_pages(u->address, u->size, u->flags, &u->handle); }
  case I915(0x34): return get_context_param(arg);
  case I915(0x35): return set_context_param(arg);
  case I915(0x39): return query((void *)(uintptr_t)qword[1], word[0]);
  case I915(0x3a): word[3] = 1; return 0; /* one address space */
  case I915(0x3b): return 0;
  case I915(0x3c): return create_with(arg);
  }
  return fail(EINVAL);
}

int is_vulkan_node(int fd) { return is_low && is_node(fd); }

/* ---- what programs call */

#define EXPORT __attribute__((visibility("default")))

EXPORT int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *arg = va_arg(list, void *);
  va_end(list);
  if (_IOC_TYPE(request) != 'd' || !is_node(fd)) return syscall(SYS_ioctl, fd, request, arg);
  pthread_mutex_lock(&lock);
  int result = answer(request & 0xffffffff, arg), error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

static void *map_any(void *at, size_t size, int prot, int flags, int fd, off_t offset) {
  if (fd < 0 || flags & MAP_ANONYMOUS || !is_node(fd)) return map(at, size, prot, flags, fd, offset);
  pthread_mutex_lock(&lock);
  struct Object *o = object_of((uint64_t)offset >> 32);
  uint64_t first = (uint64_t)offset & 0xffffffff;
  void *made = MAP_FAILED;
  if (!o || o->user || first > o->size || size > o->size - first) errno = EINVAL;
  else made = map(at, size, prot, flags, memory, o->segment[0].offset + first);
  pthread_mutex_unlock(&lock);
  return made;
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset) { return map_any(at, size, prot, flags, fd, offset); }
EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset) { return map_any(at, size, prot, flags, fd, offset); }

/* The machine's own GPUs, if it has any, are not to be found: NODE is the only one. */
static int open_any(int directory, const char *path, int flags, int mode) {
  if (path && !strncmp(path, DIRECTORY "/", sizeof DIRECTORY)) {
    if (!strcmp(path, NODE)) return open_node();
    return fail(ENOENT);
  }
  return syscall(SYS_openat, directory, path, flags, mode);
}

#define MODE \
  int mode = 0; \
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { va_list list; va_start(list, flags); mode = va_arg(list, int); va_end(list); }
EXPORT int open(const char *path, int flags, ...) { MODE return open_any(AT_FDCWD, path, flags, mode); }
EXPORT int open64(const char *path, int flags, ...) { MODE return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
EXPORT int openat(int directory, const char *path, int flags, ...) { MODE return open_any(directory, path, flags, mode); }
EXPORT int openat64(int directory, const char *path, int flags, ...) { MODE return open_any(directory, path, flags | O_LARGEFILE, mode); }
EXPORT int __open_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0); }

/* The heap at the program's break would lie where the engine process may have its own: malloc
 * takes pages by mmap when the break cannot move. */
__attribute__((constructor)) static void block_break(void) {
  uint64_t end = ((uint64_t)(uintptr_t)sbrk(0) + PAGE - 1) & -PAGE;
  if (getenv("EUMU_DRM_SOCKET"))
    map((void *)(uintptr_t)end, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
