/* Pages of the program that are device memory: those of CL_MEM_USE_HOST_PTR.
 *
 * The whole pages between the ends of such a buffer become a second view of its device memory, so
 * nobody copies them.  What the buffer has of its first and last page stays the program's, as those
 * pages have something else, too: a map and an unmap copy it (transfer.c).  The last release gives
 * the program private pages again; so does a fork, to the child.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

#define PAGE 4096ull
#define MOST_SHARED 4096 /* the system has a limit to mappings */

static struct Memory *shared; /* under `state` */
static size_t shared_count;

/* Whether there is nothing but private memory that can be written, and not this thread's stack. */
static int is_plain(uintptr_t start, uintptr_t end) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  FILE *file = fopen("/proc/self/maps", "re");
  char *line = 0, rights[5];
  size_t length = 0;
  unsigned long long first, last;
  while (file && start < end && getline(&line, &length, file) > 0) {
    if (sscanf(line, "%llx-%llx %4s", &first, &last, rights) != 3 || last <= start) continue;
    int is_stack = (first <= here && here < last) || strstr(line, "[stack");
    if (first > start || strcmp(rights, "rw-p") || is_stack) break;
    start = last;
  }
  free(line);
  if (file) fclose(file);
  return start >= end;
}

/* After the contents went into device memory, which has the same place in its page. */
void share_pages(struct Memory *m) {
  uintptr_t start = ((uintptr_t)m->host + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)m->host + m->size) / PAGE * PAGE;
  if (start >= end) return;
  char *device = m->data + (start - (uintptr_t)m->host);
  pthread_mutex_lock(&state); /* so that no two buffers get the same pages, and no fork comes between */
  if (shared_count < MOST_SHARED && is_plain(start, end)) {
    /* an old size of 0 makes another view of what is shared */
    void *made = mremap(device, 0, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
    if (made != MAP_FAILED) {
      m->shared_start = (char *)start, m->shared_end = (char *)end;
      m->next_shared = shared, shared = m;
      shared_count++;
    }
  }
  pthread_mutex_unlock(&state);
}

static int replace(char *start, char *end) {
  size_t size = end - start;
  void *copy = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return 0;
  memcpy(copy, start, size);
  return mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != MAP_FAILED;
}

/* A program may have unmapped its memory before it released the buffer, and others may have
 * something there by now: only what is still a view of device memory is read and replaced. */
static int make_private(const struct Memory *m) {
  FILE *file = fopen("/proc/self/maps", "re");
  struct { char *start, *end; } views[64];
  char *line = 0, rights[5];
  size_t length = 0, count = 0;
  unsigned long long first, last;
  int is_done = file != 0;
  while (file && getline(&line, &length, file) > 0) {
    if (sscanf(line, "%llx-%llx %4s", &first, &last, rights) != 3) continue;
    char *start = (char *)(uintptr_t)first, *end = (char *)(uintptr_t)last;
    if (end <= m->shared_start || start >= m->shared_end) continue;
    if (rights[3] != 's' || !strstr(line, "/memfd:" MEMORY_NAME)) continue;
    if (count == sizeof views / sizeof *views) { is_done = 0; break; }
    views[count].start = start > m->shared_start ? start : m->shared_start;
    views[count++].end = end < m->shared_end ? end : m->shared_end;
  }
  free(line);
  if (file) fclose(file);
  for (size_t k = 0; k < count; k++) is_done = replace(views[k].start, views[k].end) && is_done;
  return is_done;
}

/* Whether device memory is the driver's alone again: without memory for a copy, pages stay. */
int unshare_pages(struct Memory *m) {
  if (m->shared_start == m->shared_end) return 1;
  int is_private = make_private(m);
  pthread_mutex_lock(&state);
  for (struct Memory **at = &shared; *at; at = &(*at)->next_shared)
    if (*at == m) { *at = m->next_shared; break; }
  shared_count--;
  pthread_mutex_unlock(&state);
  m->shared_start = m->shared_end = 0;
  return is_private;
}

/* In the child of a fork, which has one thread. */
void unshare_all(void) {
  for (struct Memory *m = shared; m; m = m->next_shared) {
    make_private(m);
    m->shared_start = m->shared_end = 0;
  }
  shared = 0, shared_count = 0;
}
