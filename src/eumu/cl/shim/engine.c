/* The engine process: starting it, meeting it, asking it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../cc/peer.h"
#include "driver.h"

#define VERSION 5 /* of the protocol; protocol.py has the same */
#define ARENA (64ull << 30)
#define FIRST_PLACE 0x100000000000ull /* far from where systems put anything */
#define PLACES 64
#define MOST_REPLY (1u << 30)
#define MOST_REQUEST (MOST_REPLY - 8)
#define SOCKET_FD 3 /* of the engine process */
#define MOST_WORDS 32

extern char **environ;
struct Facts facts;
uint32_t generation;
static pthread_mutex_t wire = PTHREAD_MUTEX_INITIALIZER;
static int engine = -1, was_tried, is_gone_told;
static char *arena;

/* ---- messages */

static char *more(struct Message *m, size_t size) {
  if (m->size + size > m->room) {
    m->room = 2 * (m->size + size) + 256;
    m->data = realloc(m->data, m->room);
    if (!m->data) abort();
  }
  m->size += size;
  return m->data + m->size - size;
}

void put32(struct Message *m, uint32_t value) { memcpy(more(m, 4), &value, 4); }
void put64(struct Message *m, uint64_t value) { memcpy(more(m, 8), &value, 8); }

void put_bytes(struct Message *m, const void *data, size_t size) {
  if (size > MOST_REQUEST) { m->is_broken = 1; return; }
  put32(m, size);
  if (size) memcpy(more(m, size), data, size);
}

static const char *take(struct Reply *r, size_t size) {
  if (r->is_broken || size > r->size - r->at) { r->is_broken = 1; return 0; }
  r->at += size;
  return r->data + r->at - size;
}

uint32_t take32(struct Reply *r) {
  uint32_t value = 0;
  const char *at = take(r, 4);
  if (at) memcpy(&value, at, 4);
  return value;
}

uint64_t take64(struct Reply *r) {
  uint64_t value = 0;
  const char *at = take(r, 8);
  if (at) memcpy(&value, at, 8);
  return value;
}

void *take_bytes(struct Reply *r, size_t *size) {
  uint32_t count = take32(r);
  const char *at = take(r, count);
  char *made = room((at ? count : 0) + 1);
  if (at) memcpy(made, at, count);
  if (size) *size = at ? count : 0;
  return made;
}

char *take_text(struct Reply *r) { return take_bytes(r, 0); }

/* ---- the socket */

static int lost(void) {
  if (engine >= 0) close(engine);
  engine = -1;
  if (!is_gone_told) say("eumu: the engine process has ended; there is no device any more\n");
  is_gone_told = 1;
  return CL_OUT_OF_RESOURCES;
}

/* Send what is in the message, behind its length and kind; receive the answer.  Under `wire`. */
static cl_int exchange(enum Request what, struct Message *m, struct Reply *r) {
  struct { uint32_t size, kind; } head = {m->size + 8, what};
  struct { uint32_t size; int32_t status; } tail;
  if (engine < 0) return CL_OUT_OF_RESOURCES;
  if (m->is_broken || m->size > MOST_REQUEST) return CL_OUT_OF_HOST_MEMORY;
  if (m->size < 4000) { /* one call to the system */
    char both[4096];
    memcpy(both, &head, 8);
    if (m->size) memcpy(both + 8, m->data, m->size);
    if (transfer(engine, both, m->size + 8, 1)) return lost();
  } else if (transfer(engine, &head, 8, 1) || transfer(engine, m->data, m->size, 1)) return lost();
  if (transfer(engine, &tail, 8, 0) || tail.size < 8 || tail.size > MOST_REPLY) return lost();
  r->size = tail.size - 8;
  if (r->size) {
    r->data = room(r->size);
    if (transfer(engine, r->data, r->size, 0)) return lost();
  }
  return tail.status;
}

/* Ask the engine process; frees the message, and the answer too where nobody takes it. */
cl_int ask(enum Request what, struct Message *m, struct Reply *r) {
  struct Message nothing = {0};
  struct Reply unread = {0};
  if (!m) m = &nothing;
  pthread_mutex_lock(&wire);
  cl_int status = exchange(what, m, r ? r : &unread);
  pthread_mutex_unlock(&wire);
  free(m->data);
  free(unread.data);
  return status;
}

/* ---- starting it */

/* The words of the command that starts it: lines of a file beside this library. */
static int read_command(char *text, size_t size, char **words) {
  Dl_info info;
  char path[4096];
  if (!dladdr((void *)read_command, &info) || strlen(info.dli_fname) > sizeof path - 16) return -1;
  strcpy(path, info.dli_fname);
  char *slash = strrchr(path, '/');
  strcpy(slash ? slash + 1 : path, "engine");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return -1;
  text[n] = 0;
  int count = 0;
  for (char *save, *line = strtok_r(text, "\n", &save); line && count < MOST_WORDS - 1; line = strtok_r(0, "\n", &save))
    words[count++] = line;
  words[count] = 0;
  return count ? 0 : -1;
}

/* The environment without what is meant for the program alone: preloaded libraries. */
static char **plain_environment(void) {
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  char **made = room((count + 1) * sizeof *made);
  for (size_t k = 0; k < count; k++)
    if (strncmp(environ[k], "LD_PRELOAD=", 11)) made[kept++] = environ[k];
  return made;
}

static int start(int theirs) {
  char text[8192], *words[MOST_WORDS];
  if (read_command(text, sizeof text, words)) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, SOCKET_FD);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char **variables = plain_environment();
  pid_t child;
  int wrong = posix_spawn(&child, words[0], &actions, &attributes, words, variables);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  free(variables);
  if (wrong) return -1;
  while (waitpid(child, 0, 0) < 0 && errno == EINTR) {} /* it leaves the engine process behind */
  return 0;
}

static int high(int fd) { /* away from the numbers that programs close */
  int made = fcntl(fd, F_DUPFD_CLOEXEC, 700);
  close(fd);
  return made;
}

static int connect_to(const char *path) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof name.sun_path) return -1;
  strcpy(name.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (void *)&name, sizeof name)) { close(fd); return -1; }
  return fd < 0 ? -1 : high(fd);
}

static int started(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return -1;
  if (pair[1] == SOCKET_FD) pair[1] = dup(SOCKET_FD); /* dup2 of itself would stay close-on-exec */
  int wrong = start(pair[1]);
  close(pair[1]);
  if (wrong) { close(pair[0]); return -1; }
  return high(pair[0]);
}

/* ---- meeting it */

static int send_memory(int fd) {
  struct { uint32_t size, kind, version, unused; uint64_t base, bytes; } hello = {
      32, HELLO, VERSION, 0, (uintptr_t)arena, ARENA};
  char space[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec part = {&hello, sizeof hello};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return sendmsg(engine, &message, MSG_NOSIGNAL) == sizeof hello ? 0 : -1;
}

static int map_arena(int fd) {
  for (int k = 0; k < PLACES; k++) {
    char *at = (char *)(FIRST_PLACE + (generation * PLACES + k) * 2 * ARENA);
    char *made = mmap(at, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (made == at) { arena = at; return 0; }
    if (made != MAP_FAILED) munmap(made, ARENA);
  }
  return -1;
}

static int read_facts(void) {
  struct { uint32_t size; int32_t status; } tail;
  if (transfer(engine, &tail, 8, 0) || tail.status || tail.size < 8 || tail.size > 65536) return -1;
  struct Reply r = {.size = tail.size - 8};
  r.data = room(r.size);
  if (transfer(engine, r.data, r.size, 0)) { free(r.data); return -1; }
  uint32_t *numbers = &facts.has_images;
  for (int k = 0; k < 16; k++) numbers[k] = take32(&r);
  facts.memory_bytes = take64(&r), facts.most_bytes = take64(&r);
  facts.name = take_text(&r), facts.version = take_text(&r);
  facts.extensions = take_text(&r), facts.features = take_text(&r);
  free(r.data);
  return r.is_broken ? -1 : 0;
}

static int meet(void) {
  const char *path = getenv("EUMU_CL_SOCKET");
  engine = path && *path ? connect_to(path) : started();
  if (engine < 0) { say("eumu: the engine process cannot be started; there is no OpenCL device\n"); return -1; }
  int fd = memfd_create(MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int wrong = fd < 0 || ftruncate(fd, ARENA) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  wrong = wrong || map_arena(fd);
  if (wrong) say("eumu: device memory cannot be reserved; there is no OpenCL device\n");
  if (!wrong && (send_memory(fd) || read_facts())) {
    say("eumu: the engine process does not answer; there is no OpenCL device\n");
    wrong = 1;
  }
  if (fd >= 0) close(fd);
  if (wrong) { close(engine); engine = -1; return -1; }
  return 0;
}

/* `wire` may be held as long as a kernel runs, and a child has no use for what it guards. */
static void before_fork(void) { pthread_mutex_lock(&state); }
static void after_fork(void) { pthread_mutex_unlock(&state); }

/* A child has no device until it asks for one; what it has of its parent's is of an earlier
 * generation and cannot be used. */
static void in_child(void) {
  pthread_mutex_init(&state, 0);
  pthread_mutex_init(&wire, 0);
  pthread_cond_init(&changed, 0);
  if (engine >= 0) close(engine);
  engine = -1, was_tried = 0, is_gone_told = 0, arena = 0;
  generation++;
  forget_commands();
  unshare_all();
}

/* Whether there is an engine process; the first call of a process starts it. */
int is_there(void) {
  static int has_handlers;
  pthread_mutex_lock(&wire);
  if (!was_tried) {
    was_tried = 1;
    if (!has_handlers) pthread_atfork(before_fork, after_fork, in_child);
    has_handlers = 1;
    if (!meet())
      for (size_t k = 0; k < dispatch_count; k++) dispatch[k] = watched(dispatch[k]);
  }
  int found = engine >= 0;
  pthread_mutex_unlock(&wire);
  return found;
}

/* ---- memory */

/* Its address is `past` bytes behind a multiple of `align`. */
char *device_memory(size_t size, size_t align, size_t past, uint32_t kind, uint64_t number) {
  struct Message m = {0};
  struct Reply r = {0};
  put64(&m, size), put64(&m, align), put64(&m, past), put32(&m, kind), put64(&m, number);
  cl_int status = ask(ALLOCATE, &m, &r);
  char *at = status ? 0 : (char *)take64(&r);
  free(r.data);
  return at;
}

int is_device_memory(const void *at) {
  return arena && (const char *)at >= arena && (const char *)at < arena + ARENA;
}

void free_device_memory(void *at) {
  if (!is_device_memory(at)) return;
  struct Message m = {0};
  put64(&m, (uintptr_t)at);
  ask(FREE, &m, 0);
}
