/* Commands on memory by address: SVM and Intel's unified shared memory. */
#include "driver.h"

static cl_int nothing(struct Command *c) { (void)c; return CL_SUCCESS; }

static cl_int check(cl_command_queue queue, cl_uint count, const cl_event *waits) {
  struct Queue *q = (void *)queue;
  return is_object(q, QUEUE) ? check_waits(q->context, count, waits) : CL_INVALID_COMMAND_QUEUE;
}

static cl_int move(struct Command *c) {
  memmove(c->to, c->from, c->region[0]);
  return CL_SUCCESS;
}

static cl_int copy(cl_command_queue q, cl_uint type, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int wrong = check(q, count, waits);
  if (wrong) return wrong;
  if (!to || !from) return refused(CL_INVALID_VALUE, "a pointer is null");
  if ((char *)to < (char *)from + size && (char *)from < (char *)to + size) return refused(CL_MEM_COPY_OVERLAP, "%zu bytes from %p on and from %p on", size, from, to);
  if ((wrong = check_bytes(to, size)) || (wrong = check_bytes(from, size))) return wrong;
  struct Command *c = command((void *)q, type, move);
  c->to = to, c->from = from, c->region[0] = size;
  return enqueue(c, count, waits, event, blocking);
}

ENTRY cl_int clEnqueueSVMMemcpy(cl_command_queue q, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  return copy(q, CL_COMMAND_SVM_MEMCPY, blocking, to, from, size, count, waits, event);
}

ENTRY cl_int clEnqueueMemcpyINTEL(cl_command_queue q, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  return copy(q, CL_COMMAND_MEMCPY_INTEL, blocking, to, from, size, count, waits, event);
}

static cl_int repeat(struct Command *c) {
  fill_line(c->to, c->region[0], c->copy, c->pattern);
  return CL_SUCCESS;
}

static cl_int fill(cl_command_queue q, cl_uint type, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int wrong = check(q, count, waits);
  if (wrong) return wrong;
  if (!to || !pattern || !pattern_size || pattern_size > 128 || pattern_size & (pattern_size - 1)) return refused(CL_INVALID_VALUE, "a pointer is null, or the pattern has %zu bytes", pattern_size);
  if ((uintptr_t)to % pattern_size || size % pattern_size) return refused(CL_INVALID_VALUE, "%zu bytes from %p on are no multiples of the pattern's %zu bytes", size, to, pattern_size);
  if ((wrong = check_bytes(to, size))) return wrong;
  struct Command *c = command((void *)q, type, repeat);
  c->to = to, c->region[0] = size, c->pattern = pattern_size;
  c->copy = memcpy(room(pattern_size), pattern, pattern_size);
  return enqueue(c, count, waits, event, CL_FALSE);
}

ENTRY cl_int clEnqueueSVMMemFill(cl_command_queue q, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  return fill(q, CL_COMMAND_SVM_MEMFILL, to, pattern, pattern_size, size, count, waits, event);
}

ENTRY cl_int clEnqueueMemFillINTEL(cl_command_queue q, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  return fill(q, CL_COMMAND_MEMFILL_INTEL, to, pattern, pattern_size, size, count, waits, event);
}

/* Memory is one memory: maps, migration and advice have nothing to do but to keep their turn. */
static cl_int idle(cl_command_queue q, cl_uint type, cl_bool blocking, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int wrong = check(q, count, waits);
  return wrong ? wrong : enqueue(command((void *)q, type, nothing), count, waits, event, blocking);
}

ENTRY cl_int clEnqueueSVMMap(cl_command_queue q, cl_bool blocking, cl_bitfield flags, void *pointer, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  if (is_object(q, QUEUE) && (!pointer || !size || flags & ~7ull)) return refused(CL_INVALID_VALUE, "%zu bytes at %p, for flags %#llx", size, pointer, (unsigned long long)flags);
  if (is_object(q, QUEUE) && check_bytes(pointer, size)) return CL_INVALID_VALUE;
  return idle(q, CL_COMMAND_SVM_MAP, blocking, count, waits, event);
}

ENTRY cl_int clEnqueueSVMUnmap(cl_command_queue q, void *pointer, cl_uint count, const cl_event *waits, cl_event *event) {
  if (is_object(q, QUEUE) && !pointer) return refused(CL_INVALID_VALUE, "the pointer is null");
  return idle(q, CL_COMMAND_SVM_UNMAP, CL_FALSE, count, waits, event);
}

ENTRY cl_int clEnqueueSVMMigrateMem(cl_command_queue q, cl_uint number, const void **pointers, const size_t *sizes, cl_bitfield flags, cl_uint count, const cl_event *waits, cl_event *event) {
  if (is_object(q, QUEUE) && (!number || !pointers || flags & ~3ull)) return refused(CL_INVALID_VALUE, "there is no list of pointers, or flags %#llx mean nothing", (unsigned long long)flags);
  for (cl_uint k = 0; is_object(q, QUEUE) && k < number; k++) {
    if (!is_block(pointers[k])) return refused(CL_INVALID_VALUE, "pointer %u (%p) is in no allocation of clSVMAlloc", k, pointers[k]);
    if (sizes && check_bytes(pointers[k], sizes[k])) return CL_INVALID_VALUE;
  }
  return idle(q, CL_COMMAND_SVM_MIGRATE_MEM, CL_FALSE, count, waits, event);
}

ENTRY cl_int clEnqueueMigrateMemINTEL(cl_command_queue q, const void *pointer, size_t size, cl_bitfield flags, cl_uint count, const cl_event *waits, cl_event *event) {
  (void)pointer, (void)size, (void)flags;
  return idle(q, CL_COMMAND_MIGRATEMEM_INTEL, CL_FALSE, count, waits, event);
}

ENTRY cl_int clEnqueueMemAdviseINTEL(cl_command_queue q, const void *pointer, size_t size, cl_uint advice, cl_uint count, const cl_event *waits, cl_event *event) {
  (void)pointer, (void)size, (void)advice;
  return idle(q, CL_COMMAND_MEMADVISE_INTEL, CL_FALSE, count, waits, event);
}

static cl_int free_all(struct Command *c) {
  void **pointers = (void **)c->copy;
  if (c->free_call) c->free_call(c->queue, c->pattern, pointers, c->user);
  else
    for (size_t k = 0; k < c->pattern; k++) clSVMFree((cl_context)c->queue->context, pointers[k]);
  return CL_SUCCESS;
}

ENTRY cl_int clEnqueueSVMFree(cl_command_queue q, cl_uint number, void **pointers, void (*call)(cl_command_queue, cl_uint, void **, void *), void *user, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int wrong = check(q, count, waits);
  if (wrong) return wrong;
  if (!number != !pointers) return refused(CL_INVALID_VALUE, "%u pointers, and their list is %s", number, pointers ? "there" : "null");
  struct Command *c = command((void *)q, CL_COMMAND_SVM_FREE, free_all);
  c->copy = room(number * sizeof *pointers);
  if (number) memcpy(c->copy, pointers, number * sizeof *pointers);
  c->pattern = number;
  c->free_call = (void (*)(void *, cl_uint, void **, void *))call;
  c->user = user;
  return enqueue(c, count, waits, event, CL_FALSE);
}
