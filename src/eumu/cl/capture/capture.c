/* A layer below the OpenCL loader (OPENCL_LAYERS) that writes what kernels leave in buffers, for
 * `eumu compare -- COMMAND`: with any driver, the same program, so that its runs can be compared.
 *
 * Behind each kernel the queue is finished and the buffers among its arguments are read.  Nothing is
 * read while a user event is open, as the queue might wait for it.  Buffers begin with zeros, and
 * programs that ask for a GPU are given whatever device there is.
 * captured.py reads the file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYER "eumu compare"
#include "../../cc/layer.h"

enum {
  GET_DEVICES = 2, CREATE_BUFFER = 14, SET_ARGUMENT = 38, GET_KERNEL_INFO = 39, FINISH = 47, READ_BUFFER = 48,
  ENQUEUE = 59, ENQUEUE_TASK = 60, CREATE_SUB_BUFFER = 82, CREATE_USER_EVENT = 84, SET_USER_EVENT = 85, SVM_ALLOC = 126,
  SET_ARGUMENT_SVM = 134, CREATE_BUFFER_WITH_PROPERTIES = 146
};
enum { GPU = 1 << 2, ACCELERATOR = 1 << 3, KERNEL_NAME = 0x1190, KERNEL_ARGUMENTS = 0x1191 };
enum { ALLOC_HOST = 1 << 4, USE_HOST = 1 << 3, COPY_HOST = 1 << 5 };
enum { ARGUMENTS = 128 };
static const uint64_t most_bytes = 1ull << 31; /* of a file; behind it are sums alone */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static uint64_t launches, written;
static int open_events;

/* ---- buffers and allocations, by their handle or address */

struct Buffer { struct Buffer *next; void *handle; uint64_t number, size, sum; int is_svm, is_written; };
static struct Buffer *buffers;
static uint64_t counts[2];

static void note_buffer(void *handle, uint64_t size, int is_svm) {
  struct Buffer *b = 0;
  if (!handle) return;
  pthread_mutex_lock(&lock);
  for (b = buffers; b && b->handle != handle; b = b->next) {}
  if (!b && (b = calloc(1, sizeof *b))) b->next = buffers, buffers = b;
  if (b) *b = (struct Buffer){b->next, handle, ++counts[is_svm], size, 0, is_svm, 0};
  pthread_mutex_unlock(&lock);
}

static struct Buffer *buffer_of(const void *handle) {
  for (struct Buffer *b = buffers; b; b = b->next) {
    const char *start = b->handle;
    if (b->handle == handle || (b->is_svm && (const char *)handle >= start && (const char *)handle < start + b->size)) return b;
  }
  return 0;
}

typedef void *CreateBuffer(void *, uint64_t, size_t, void *, int32_t *);
typedef void *CreateBufferWithProperties(void *, const uint64_t *, uint64_t, size_t, void *, int32_t *);

static void *create_buffer(void *context, uint64_t flags, size_t size, void *host, int32_t *error) {
  void *zeros = !host && size && !(flags & (USE_HOST | COPY_HOST)) ? calloc(1, size) : 0;
  void *made = ((CreateBuffer *)next[CREATE_BUFFER])(context, zeros ? flags | COPY_HOST : flags, size, zeros ? zeros : host, error);
  free(zeros);
  note_buffer(made, size, 0);
  return made;
}

static void *create_buffer_with_properties(void *context, const uint64_t *list, uint64_t flags, size_t size, void *host, int32_t *error) {
  void *zeros = !host && size && !(flags & (USE_HOST | COPY_HOST)) ? calloc(1, size) : 0;
  void *made = ((CreateBufferWithProperties *)next[CREATE_BUFFER_WITH_PROPERTIES])(context, list, zeros ? flags | COPY_HOST : flags, size, zeros ? zeros : host, error);
  free(zeros);
  note_buffer(made, size, 0);
  return made;
}

static void *create_sub_buffer(void *whole, uint64_t flags, uint32_t what, const void *part, int32_t *error) {
  void *made = ((void *(*)(void *, uint64_t, uint32_t, const void *, int32_t *))next[CREATE_SUB_BUFFER])(whole, flags, what, part, error);
  note_buffer(made, made ? ((const size_t *)part)[1] : 0, 0);
  return made;
}

static void *svm_alloc(void *context, uint64_t flags, size_t size, uint32_t align) {
  void *made = ((void *(*)(void *, uint64_t, size_t, uint32_t))next[SVM_ALLOC])(context, flags, size, align);
  note_buffer(made, size, 1);
  return made;
}

/* ---- arguments */

struct Kernel { struct Kernel *next; void *handle; const void *arguments[ARGUMENTS]; };
static struct Kernel *kernels;

static struct Kernel *kernel_of(void *handle) {
  struct Kernel *k = kernels;
  while (k && k->handle != handle) k = k->next;
  if (!k && (k = calloc(1, sizeof *k))) k->next = kernels, k->handle = handle, kernels = k;
  return k;
}

static void note_argument(void *kernel, uint32_t index, const void *value) {
  pthread_mutex_lock(&lock);
  struct Kernel *k = kernel_of(kernel);
  if (k && index < ARGUMENTS) k->arguments[index] = value;
  pthread_mutex_unlock(&lock);
}

static int32_t set_argument(void *kernel, uint32_t index, size_t size, const void *value) {
  const void *handle = 0;
  if (value && size == sizeof handle) memcpy(&handle, value, sizeof handle);
  int32_t status = ((int32_t(*)(void *, uint32_t, size_t, const void *))next[SET_ARGUMENT])(kernel, index, size, value);
  if (!status) note_argument(kernel, index, handle);
  return status;
}

static int32_t set_argument_svm(void *kernel, uint32_t index, const void *value) {
  int32_t status = ((int32_t(*)(void *, uint32_t, const void *))next[SET_ARGUMENT_SVM])(kernel, index, value);
  if (!status) note_argument(kernel, index, value);
  return status;
}

/* ---- what kernels leave */

static uint64_t sum_of(const uint8_t *data, size_t size) {
  uint64_t sum = 14695981039346656037ull;
  for (size_t k = 0; k < size; k++) sum = (sum ^ data[k]) * 1099511628211ull;
  return sum;
}

typedef int32_t ReadBuffer(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, const void *, void *);

static void write_buffer(void *queue, uint32_t index, struct Buffer *b) {
  uint8_t *copy = b->is_svm ? 0 : malloc(b->size), *data = b->is_svm ? b->handle : copy;
  int is_read = b->is_svm || (copy && !((ReadBuffer *)next[READ_BUFFER])(queue, b->handle, 1, 0, b->size, copy, 0, 0, 0));
  if (is_read) {
    uint64_t sum = sum_of(data, b->size);
    int is_new = (!b->is_written || sum != b->sum) && written + b->size <= most_bytes;
    fprintf(file, "B %u %d %llu %llu %llx %d\n", index, b->is_svm, (unsigned long long)b->number, (unsigned long long)b->size, (unsigned long long)sum, is_new);
    if (is_new) fwrite(data, 1, b->size, file), written += b->size;
    b->sum = sum, b->is_written |= is_new;
  }
  free(copy);
}

static void write_launch(void *queue, void *kernel, uint32_t dims, const size_t *global) {
  int32_t (*info)(void *, uint32_t, size_t, void *, size_t *) = (void *)next[GET_KERNEL_INFO];
  char name[256] = "?";
  uint32_t arguments = 0;
  info(kernel, KERNEL_NAME, sizeof name, name, 0);
  info(kernel, KERNEL_ARGUMENTS, sizeof arguments, &arguments, 0);
  pthread_mutex_lock(&lock);
  int is_free = !open_events;
  pthread_mutex_unlock(&lock);
  if (is_free) ((int32_t(*)(void *))next[FINISH])(queue);
  pthread_mutex_lock(&lock);
  struct Kernel *k = kernel_of(kernel);
  fprintf(file, "L %llu %d %zu %zu %zu %s\n", (unsigned long long)++launches, is_free, dims && global ? global[0] : 1, dims > 1 ? global[1] : 1, dims > 2 ? global[2] : 1, name);
  for (uint32_t j = 0; is_free && k && j < ARGUMENTS && j < arguments; j++) {
    struct Buffer *b = k->arguments[j] ? buffer_of(k->arguments[j]) : 0;
    if (b) write_buffer(queue, j, b);
  }
  fflush(file);
  pthread_mutex_unlock(&lock);
}

static int32_t enqueue(void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global, const size_t *local, uint32_t count, const void *waits, void *event) {
  int32_t status = ((int32_t(*)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *))next[ENQUEUE])(queue, kernel, dims, offset, global, local, count, waits, event);
  if (!status && file) write_launch(queue, kernel, dims, global);
  return status;
}

static int32_t enqueue_task(void *queue, void *kernel, uint32_t count, const void *waits, void *event) {
  int32_t status = ((int32_t(*)(void *, void *, uint32_t, const void *, void *))next[ENQUEUE_TASK])(queue, kernel, count, waits, event);
  if (!status && file) write_launch(queue, kernel, 0, 0);
  return status;
}

static void *create_user_event(void *context, int32_t *error) {
  void *made = ((void *(*)(void *, int32_t *))next[CREATE_USER_EVENT])(context, error);
  pthread_mutex_lock(&lock);
  open_events += made != 0;
  pthread_mutex_unlock(&lock);
  return made;
}

static int32_t set_user_event(void *event, int32_t to) {
  int32_t status = ((int32_t(*)(void *, int32_t))next[SET_USER_EVENT])(event, to);
  pthread_mutex_lock(&lock);
  open_events -= !status;
  pthread_mutex_unlock(&lock);
  return status;
}

static int32_t get_devices(void *platform, uint64_t type, uint32_t room, void *found, uint32_t *count) {
  if (type & (GPU | ACCELERATOR)) type = 0xffffffff;
  return ((int32_t(*)(void *, uint64_t, uint32_t, void *, uint32_t *))next[GET_DEVICES])(platform, type, room, found, count);
}

/* ---- what the loader calls */

EXPORT int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *own_count, void *const **own) {
  static const struct Replacement rows[] = {
      {GET_DEVICES, (void *)get_devices}, {CREATE_BUFFER, (void *)create_buffer},
      {CREATE_BUFFER_WITH_PROPERTIES, (void *)create_buffer_with_properties}, {CREATE_SUB_BUFFER, (void *)create_sub_buffer},
      {SVM_ALLOC, (void *)svm_alloc}, {SET_ARGUMENT, (void *)set_argument},
      {SET_ARGUMENT_SVM, (void *)set_argument_svm}, {ENQUEUE, (void *)enqueue}, {ENQUEUE_TASK, (void *)enqueue_task},
      {CREATE_USER_EVENT, (void *)create_user_event}, {SET_USER_EVENT, (void *)set_user_event}};
  const char *path = getenv("EUMU_CAPTURE");
  /* The first program alone. */
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) file = fdopen(fd, "w");
  return put_between(count, target, own_count, own, rows, sizeof rows / sizeof *rows);
}
