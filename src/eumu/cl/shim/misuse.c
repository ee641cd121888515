/* With --check: mistakes of the program in its calls, told by the engine process with the others.
 *
 * A call that fails is told with the reason that its function gave (`because`, `refused`), objects
 * that are left at the end of the program, commands that touch memory while the program has it
 * mapped, and kernels that write what they may only read.
 */
#include <stdarg.h>

#include "driver.h"

enum { FAILED, LEFT, MAPPED, CONSTANT }; /* as protocol.py has them */

static _Thread_local char reason[256];

void because(const char *format, ...) {
  va_list values;
  if (!facts.checks) return;
  va_start(values, format);
  vsnprintf(reason, sizeof reason, format, values);
  va_end(values);
}

/* An error, and the reason for it. */
cl_int refused(cl_int error, const char *format, ...) {
  va_list values;
  if (!facts.checks) return error;
  va_start(values, format);
  vsnprintf(reason, sizeof reason, format, values);
  va_end(values);
  return error;
}

static void tell(uint32_t mistake, cl_int status, const char *where, const char *text) {
  struct Message m = {0};
  put32(&m, mistake), put32(&m, status);
  put_bytes(&m, where, strlen(where));
  put_bytes(&m, text, strlen(text));
  ask(NOTE, &m, 0);
}

/* ---- calls that fail */

/* What programs try out to find something. */
static int is_question(const char *name, cl_int status) {
  return status == CL_DEVICE_NOT_FOUND || (status == CL_INVALID_VALUE && !strncmp(name, "clGet", 5) && strstr(name, "Info"));
}

static cl_int noted(const char *name, cl_int status) {
  if (status < 0 && !is_question(name, status)) tell(FAILED, status, name, reason);
  return status;
}

#define STATUS(name, parameters, arguments) \
  static cl_int checked_##name parameters { reason[0] = 0; return noted(#name, name arguments); }
#define OBJECT(type, name, parameters, arguments) \
  static type checked_##name parameters { \
    cl_int found = CL_SUCCESS; \
    reason[0] = 0; \
    type made = name arguments; \
    if (error) *error = found; \
    noted(#name, found); \
    return made; \
  }
#include "checked.h"
#undef STATUS
#undef OBJECT

#define STATUS(name, parameters, arguments) {(void *)name, (void *)checked_##name},
#define OBJECT(type, name, parameters, arguments) {(void *)name, (void *)checked_##name},
static const struct { void *plain, *checked; } pairs[] = {
#include "checked.h"
};

void *watched(void *function) {
  for (size_t k = 0; facts.checks && k < COUNT(pairs); k++)
    if (pairs[k].plain == function) return pairs[k].checked;
  return function;
}

/* ---- what is left at the end */

static const char *const kinds[] = {
    [PLATFORM] = "platform", [DEVICE] = "device", [CONTEXT] = "context", [QUEUE] = "command queue", [MEMORY] = "memory object",
    [SAMPLER] = "sampler", [PROGRAM] = "program", [KERNEL] = "kernel", [EVENT] = "event"};

const char *name_of(const struct Object *o, char *text, size_t size) {
  const struct Memory *m = (void *)o;
  const struct Kernel *k = (void *)o;
  static const char *const blocks[] = {"", "SVM allocation", "host allocation", "device allocation", "shared allocation"};
  const char *kind = kinds[o->kind];
  if (o->kind == MEMORY) kind = m->type < COUNT(blocks) ? blocks[m->type] : m->type != CL_MEM_OBJECT_BUFFER ? "image" : m->parent ? "sub-buffer" : "buffer";
  if (o->kind == KERNEL) snprintf(text, size, "kernel %s", k->built->entries[k->index].name);
  else if (o->kind == MEMORY) snprintf(text, size, "%s #%llu (%zu bytes)", kind, (unsigned long long)o->number, m->size);
  else snprintf(text, size, "%s #%llu", kind, (unsigned long long)o->number);
  return text;
}

#define MOST_LEFT 100
static char left[MOST_LEFT][160];
static size_t left_count;

static void note_left(const struct Object *o) {
  if (left_count < MOST_LEFT) name_of(o, left[left_count++], sizeof *left);
}

/* Other threads may still run: names are taken under the lock, and told without it. */
__attribute__((destructor)) static void at_the_end(void) {
  if (!facts.checks) return;
  pthread_mutex_lock(&state);
  for_each_left(note_left);
  for_each_block(note_left);
  pthread_mutex_unlock(&state);
  for (size_t k = 0; k < left_count; k++) tell(LEFT, 0, "", left[k]);
}

/* ---- memory that is mapped */

static struct Map *active; /* maps whose memory the program may use now; under `state` */

void begin_map(struct Map *map, const struct Memory *m, char *start, size_t bytes) {
  pthread_mutex_lock(&state);
  map->other = active, map->start = start, map->end = start + bytes, map->of = m;
  active = map;
  pthread_mutex_unlock(&state);
}

void end_map(struct Map *map) {
  pthread_mutex_lock(&state);
  for (struct Map **at = &active; *at; at = &(*at)->other)
    if (*at == map) { *at = map->other; break; }
  pthread_mutex_unlock(&state);
}

static void tell_mapped(const char *what, const struct Map *map, const char *how) {
  char name[160], text[512];
  name_of(&map->of->base, name, sizeof name);
  size_t first = map->start - map->of->data;
  snprintf(text, sizeof text, "%s %s bytes %zu to %zu of %s while the program has them mapped for %s", what, how, first, first + (map->end - map->start) - 1, name, map->flags & CL_MAP_READ && !(map->flags & CL_MAP_WRITE) ? "reading" : "writing");
  tell(MAPPED, 0, "", text);
}

static int writes(const struct Map *map) { return (map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0; }

/* A copy of the map of memory from `start` to `end` that comes behind `count` others. */
static int find_map(const char *start, const char *end, size_t count, struct Map *found) {
  pthread_mutex_lock(&state);
  struct Map *map = active;
  for (; map; map = map->other)
    if (map->start < end && start < map->end && !count--) break;
  if (map) *found = *map;
  pthread_mutex_unlock(&state);
  return map != 0;
}

void check_mapped(const char *what, const char *start, size_t bytes, int is_written) {
  struct Map map;
  for (size_t k = 0; find_map(start, start + bytes, k, &map); k++)
    if (is_written || writes(&map)) tell_mapped(what, &map, is_written ? "writes" : "reads");
}

static uint64_t digest(const char *start, const char *end) {
  uint64_t sum = 14695981039346656037ull;
  for (const char *at = start; at < end; at++) sum = (sum ^ (uint8_t)*at) * 1099511628211ull;
  return sum;
}

/* Before a kernel runs (`before` is 1) and after: memory that is mapped for writing must not be
 * given to it, and it must not write what is mapped for reading. */
void check_launch(const char *kernel, const char *start, size_t bytes, int before, uint64_t *sum) {
  struct Map map;
  char what[128];
  uint64_t all = 0;
  snprintf(what, sizeof what, "kernel %s", kernel);
  for (size_t k = 0; find_map(start, start + bytes, k, &map); k++) {
    if (!writes(&map)) all = all * 31 + digest(map.start, map.end);
    else if (before) tell_mapped(what, &map, "is given");
  }
  if (before) *sum = all;
  else if (*sum != all && find_map(start, start + bytes, 0, &map)) tell_mapped(what, &map, "writes");
}

/* Whether a kernel leaves other bytes in memory that the program has said it only reads. */
void check_constant(const char *kernel, const struct Memory *m, int before, uint64_t *sum) {
  char name[160], text[512];
  if (!(m->flags & CL_MEM_READ_ONLY)) return;
  uint64_t now = digest(m->data, m->data + m->size);
  if (!before && now != *sum) {
    snprintf(text, sizeof text, "kernel %s writes %s, which was made with CL_MEM_READ_ONLY", kernel, name_of(&m->base, name, sizeof name));
    tell(CONSTANT, 0, "", text);
  }
  *sum = now;
}
