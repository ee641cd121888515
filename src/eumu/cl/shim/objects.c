/* Objects: handles, counts, and how queries are answered. */
#include <time.h>

#include "driver.h"

pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* All live handles, by address: a wrong or dead one is an error, not a crash. */
static struct Object **table;
static size_t table_room, table_count, table_dead;
static struct Object buried;
/* The loader looks into handles before the driver does: those that died last stay readable. */
#define REMEMBERED 4096
static struct Object *dead[REMEMBERED];
static size_t deaths;
static uint64_t numbers[EVENT + 1];

void *room(size_t bytes) {
  void *made = calloc(1, bytes ? bytes : 1);
  if (!made) { fputs("eumu: no memory for an object of the OpenCL driver\n", stderr); abort(); }
  return made;
}

char *copied(const char *text) { return strcpy(room(strlen(text) + 1), text); }

cl_ulong now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static size_t place_of(const void *handle) {
  size_t k = ((uintptr_t)handle >> 4) * 0x9E3779B97F4A7C15ull >> 20 & (table_room - 1);
  while (table[k] && table[k] != handle) k = (k + 1) & (table_room - 1);
  return k;
}

static void grow_table(void) {
  struct Object **old = table;
  size_t count = table_room;
  table_room = table_count * 4 > 1024 ? table_room * (table_count * 4 > table_room ? 2 : 1) : 1024;
  table = room(table_room * sizeof *table);
  table_dead = 0;
  for (size_t k = 0; k < count; k++)
    if (old[k] && old[k] != &buried) table[place_of(old[k])] = old[k];
  free(old);
}

/* Those that the program still has references to; under `state`. */
void for_each_left(void (*note)(const struct Object *)) {
  for (size_t k = 0; k < table_room; k++)
    if (table[k] && table[k] != &buried && table[k]->refs) note(table[k]);
}

/* In the child of a fork, which has no threads that run commands: those of its parent end as errors. */
void forget_commands(void) {
  for (size_t k = 0; k < table_room; k++) {
    struct Object *o = table[k];
    if (!o || o == &buried) continue;
    struct Queue *q = (void *)o;
    struct Event *e = (void *)o;
    if (o->kind == QUEUE) q->first = q->last = 0, q->running = 0, q->has_worker = 0;
    if (o->kind == CONTEXT) ((struct Context *)o)->commands = 0;
    if (o->kind == EVENT && e->queue && e->status > CL_COMPLETE) e->status = CL_OUT_OF_RESOURCES;
  }
}

/* A new object with one reference. */
void *make(enum Kind kind, size_t size) {
  struct Object *made = room(size);
  pthread_mutex_lock(&state);
  if ((table_count + table_dead + 1) * 2 > table_room) grow_table();
  *made = (struct Object){dispatch, kind, .refs = 1, .number = ++numbers[kind]};
  table[place_of(made)] = made;
  table_count++;
  pthread_mutex_unlock(&state);
  return made;
}

static int is_live(const void *handle, enum Kind kind) {
  if (handle == &the_platform || handle == &the_device) return ((struct Object *)handle)->kind == kind;
  if (!handle || !table_room || table[place_of(handle)] != handle) return 0;
  return ((struct Object *)handle)->kind == kind;
}

static int is_remembered(const void *handle) {
  for (size_t k = 0; k < REMEMBERED; k++)
    if (dead[k] == handle) return 1;
  return 0;
}

/* Say what a handle is instead; under `state`. */
static void say_what_it_is(const void *handle, enum Kind kind) {
  char name[160];
  const struct Object *o = handle;
  if (!handle) { because("a handle is null"); return; }
  if (is_remembered(handle)) {
    if (o->kind == KERNEL) because("kernel #%llu has been released before", (unsigned long long)o->number); /* its name is gone */
    else because("%s has been released before", name_of(o, name, sizeof name));
    return;
  }
  if (table_room && table[place_of(handle)] == handle && o->kind != kind) because("%s is not of this kind", name_of(o, name, sizeof name));
  else because("%p is no handle", handle);
}

int is_object(const void *handle, enum Kind kind) {
  pthread_mutex_lock(&state);
  int found = is_live(handle, kind);
  if (!found && facts.checks) say_what_it_is(handle, kind);
  pthread_mutex_unlock(&state);
  return found;
}

static void end(struct Object *o) {
  switch (o->kind) {
    case CONTEXT: {
      struct Context *c = (void *)o;
      call_back(&c->destructors, c);
      free(c->properties);
      break;
    }
    case QUEUE: unuse(((struct Queue *)o)->context); break;
    case MEMORY: free_memory((void *)o); break;
    case SAMPLER: unuse(((struct Sampler *)o)->context); break;
    case PROGRAM: free_program((void *)o); break;
    case KERNEL: free_kernel((void *)o); break;
    case EVENT: free_event((void *)o); break;
    default: return;
  }
}

/* One reference or use less; whether it was the last one.  Under `state`. */
static int drop(struct Object *o, uint32_t refs, uint32_t uses) {
  o->refs -= refs, o->uses -= uses;
  int is_last = !o->refs && !o->uses;
  if (is_last) o->uses = o->is_ending = 1; /* callbacks may look at it */
  return is_last;
}

static void bury(struct Object *o) {
  end(o);
  pthread_mutex_lock(&state);
  table[place_of(o)] = &buried;
  table_count--, table_dead++;
  struct Object *oldest = dead[deaths % REMEMBERED];
  dead[deaths++ % REMEMBERED] = o;
  pthread_mutex_unlock(&state);
  free(oldest);
}

void use(void *object) {
  if (!object) return;
  pthread_mutex_lock(&state);
  ((struct Object *)object)->uses++;
  pthread_mutex_unlock(&state);
}

/* Use what may have ended, and may lie where another object is now; not if the program has released it. */
int use_if_there(void *object, enum Kind kind, uint64_t number) {
  struct Object *o = object;
  pthread_mutex_lock(&state);
  int is_there = is_live(o, kind) && o->number == number && o->refs;
  if (is_there) o->uses++;
  pthread_mutex_unlock(&state);
  return is_there;
}

/* The name of what use_if_there did not find. */
const char *name_of_lost(const void *object, enum Kind kind, uint64_t number, char *text, size_t size) {
  const struct Object *o = object;
  pthread_mutex_lock(&state);
  int is_readable = is_live(o, kind) || is_remembered(o);
  if (is_readable && o->kind == kind && o->number == number) name_of(o, text, size);
  else snprintf(text, size, "an object");
  pthread_mutex_unlock(&state);
  return text;
}

void unuse(void *object) {
  if (!object) return;
  pthread_mutex_lock(&state);
  int is_last = drop(object, 0, 1);
  pthread_mutex_unlock(&state);
  if (is_last) bury(object);
}

/* Also of what only other objects need any more: a query of those gives its handle, and C++ retains that. */
cl_int retain(void *handle, enum Kind kind, cl_int wrong) {
  pthread_mutex_lock(&state);
  int is_good = is_live(handle, kind) && !((struct Object *)handle)->is_ending;
  if (is_good) ((struct Object *)handle)->refs++;
  else if (facts.checks) say_what_it_is(handle, kind);
  pthread_mutex_unlock(&state);
  return is_good ? CL_SUCCESS : wrong;
}

cl_int release(void *handle, enum Kind kind, cl_int wrong) {
  pthread_mutex_lock(&state);
  int is_good = is_live(handle, kind) && ((struct Object *)handle)->refs;
  int is_last = is_good && drop(handle, 1, 0);
  if (!is_good && facts.checks) say_what_it_is(handle, kind);
  pthread_mutex_unlock(&state);
  if (is_last) bury(handle);
  return is_good ? CL_SUCCESS : wrong;
}

cl_int answer(const void *data, size_t bytes, size_t size, void *value, size_t *size_ret) {
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value && bytes) memcpy(value, data, bytes);
  if (size_ret) *size_ret = bytes;
  return CL_SUCCESS;
}

cl_int answer_text(const char *text, size_t size, void *value, size_t *size_ret) {
  return answer(text ? text : "", text ? strlen(text) + 1 : 1, size, value, size_ret);
}

int add_callback(struct Callback **list, Notify call, cl_int when, void *user) {
  struct Callback *made = room(sizeof *made);
  *made = (struct Callback){*list, call, when, user};
  *list = made;
  return 0;
}

/* Call and forget a list, the latest first. */
void call_back(struct Callback **list, void *object) {
  while (*list) {
    struct Callback *c = *list;
    *list = c->next;
    c->call(object, c->user);
    free(c);
  }
}
