/* eumu's OpenCL driver: what its files know of each other.
 *
 * Objects, queues and events live in the program's process and are C, no Python.  What needs an
 * engine (building, launching, device memory) is asked of the engine process over a socket
 * (engine.c, eumu/cl/protocol.py).  All of device memory is one file that both processes map at the
 * same address, so a device address is a pointer of the program.
 *
 * Locks: `state` for objects, queues and events; the socket has its own.  Nobody holds `state` while
 * asking the engine or calling the program back.
 */
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"
#include "entries.h"

#define EXPORT __attribute__((visibility("default")))
#define ENTRY /* of the table; hidden, or the loader's function of the same name would be taken for it */
#define MOST_DIMS 3
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum Kind { PLATFORM = 1, DEVICE, CONTEXT, QUEUE, MEMORY, SAMPLER, PROGRAM, KERNEL, EVENT };

/* What begins every object; the loader reads the first word.  An object lives while the program
 * has `refs` to it or other objects have `uses` of it. */
struct Object {
  void **dispatch;
  enum Kind kind;
  uint32_t refs, uses, is_ending;
  uint64_t number; /* which of its kind it is, in the order in which they were made */
};

typedef void (*Notify)(void *, void *);
struct Callback { struct Callback *next; Notify call; cl_int when; void *user; };

struct Context {
  struct Object base;
  cl_context_properties *properties;
  size_t property_count;
  struct Callback *destructors;
  uint32_t generation; /* of the engine process */
  uint32_t commands; /* in its queues, that are not over */
};

struct Command;
struct Queue {
  struct Object base;
  struct Context *context;
  cl_bitfield properties;
  cl_ulong property_list[8];
  size_t property_count;
  struct Command *first, *last; /* that have not begun */
  uint32_t running;
  int has_worker;
  cl_int failed; /* of a command since somebody last waited */
};

struct Event {
  struct Object base;
  struct Context *context;
  struct Queue *queue; /* none for user events */
  cl_uint type;
  cl_int status;
  int is_set; /* by the program */
  cl_ulong times[4]; /* queued, submitted, started, ended; ns */
  struct Callback *callbacks;
};

struct Map {
  struct Map *next; /* of the same object */
  char *pointer;
  cl_bitfield flags;
  size_t region[3];
  struct Map *other; /* that is in use, see misuse.c; the rest is for those */
  const char *start, *end; /* device memory */
  const struct Memory *of;
};

/* A buffer, a sub-buffer, or an image; `rows` and `slices` are distances in bytes. */
struct Memory {
  struct Object base;
  struct Context *context;
  cl_uint type;
  cl_bitfield flags;
  struct Memory *parent;
  size_t offset, size;
  char *data;     /* device memory */
  char *host;     /* the program's, of CL_MEM_USE_HOST_PTR */
  char *shared_start, *shared_end; /* of it, what is device memory, see pages.c */
  struct Memory *next_shared;
  int owns;       /* whether `data` is given back with the object */
  uint64_t image; /* the engine's number of an image, or 0 */
  cl_image_format format;
  cl_image_desc shape;
  size_t texel, rows, slices;
  struct Map *maps;
  uint32_t map_count;
  struct Callback *destructors;
  cl_ulong property_list[16];
  size_t property_count;
};

struct Sampler {
  struct Object base;
  struct Context *context;
  cl_bool normalized;
  cl_uint addressing, filter;
  cl_ulong property_list[8];
  size_t property_count;
};

enum Passing { BY_VALUE, BY_BUFFER, BY_LOCAL, BY_IMAGE, BY_SAMPLER };
struct Parameter {
  enum Passing passing;
  uint32_t size, address, access, qualifiers, has_info;
  char *type, *name;
};
struct Entry { /* a kernel of a built program */
  char *name, *attributes;
  uint32_t count, simd, required_simd, slm;
  uint32_t group[3];
  uint64_t private_bytes, spill_bytes;
  struct Parameter *parameters;
};
struct Built { /* shared by a program and its kernels */
  uint32_t uses;
  uint32_t number, generation, variable_bytes;
  uint32_t count;
  struct Entry *entries;
};
struct Program {
  struct Object base;
  struct Context *context;
  char *source;
  void *il, *specialized; /* as it was given, and with the program's constants */
  size_t il_bytes;
  void *given; /* the binary it was made from */
  size_t given_bytes;
  void *binary;
  size_t binary_bytes;
  cl_uint binary_type;
  uint32_t smaller_groups; /* whether those at the end of a range may be smaller than the others */
  cl_int status;
  char *options, *log;
  struct Built *built;
  uint32_t kernels; /* that are alive */
  struct Callback *callbacks;
};

struct Argument {
  int is_set;
  uint32_t size;
  void *value;         /* of BY_VALUE */
  char *pointer;       /* of BY_BUFFER without an object */
  struct Object *object; /* buffer, image or sampler, that the program may have released meanwhile */
  uint64_t number; /* of it */
};
struct Kernel {
  struct Object base;
  struct Program *program;
  struct Built *built;
  uint32_t index;
  struct Argument *arguments;
};

/* A command of a queue: `run` gives CL_SUCCESS or what went wrong. */
struct Command {
  struct Command *next;
  struct Queue *queue;
  struct Event *event;
  uint32_t wait_count;
  struct Event **waits;
  int follows_all, holds_others; /* in an out-of-order queue: it begins after all before it; none behind it begins before it */
  cl_int (*run)(struct Command *);
  uint32_t keep_count;
  struct Object **keeps; /* what lives until it has run */
  char *to;
  const char *from;
  size_t region[3], to_rows, to_slices, from_rows, from_slices;
  size_t pattern;
  struct Memory *memory;
  struct Map *map;
  char *copy; /* freed with the command */
  size_t copy_bytes;
  void (*free_call)(void *, cl_uint, void **, void *);
  void *user;
};

/* ---- objects.c */
extern pthread_mutex_t state;
extern pthread_cond_t changed;
void *make(enum Kind kind, size_t size);
int is_object(const void *handle, enum Kind kind);
void use(void *object);
int use_if_there(void *object, enum Kind kind, uint64_t number);
const char *name_of_lost(const void *object, enum Kind kind, uint64_t number, char *text, size_t size);
void unuse(void *object);
cl_int retain(void *handle, enum Kind kind, cl_int wrong);
cl_int release(void *handle, enum Kind kind, cl_int wrong);
void *room(size_t bytes);
char *copied(const char *text);
cl_int answer(const void *data, size_t bytes, size_t size, void *value, size_t *size_ret);
cl_int answer_text(const char *text, size_t size, void *value, size_t *size_ret);
void call_back(struct Callback **list, void *object);
void forget_commands(void);
int add_callback(struct Callback **list, Notify call, cl_int when, void *user);
cl_ulong now_ns(void);

/* ---- engine.c */
struct Facts {
  uint32_t has_images, has_fp64, compute_units, max_group, slm_bytes, clock_mhz;
  uint32_t ip_version, device_id, slices, subslices, eus, threads, least_simd, checks, has_compiler, products;
  uint64_t memory_bytes, most_bytes;
  char *name, *version, *extensions, *features;
};
extern struct Facts facts;
extern uint32_t generation;
struct Message { char *data; size_t size, room; int is_broken; };
struct Reply { char *data; size_t size, at; int is_broken; };
enum Request { HELLO = 1, ALLOCATE, FREE, BUILD, DROP, LAUNCH, IMAGE, TEXEL, FREE_IMAGE, NOTE, WHERE };
void put32(struct Message *m, uint32_t value);
void put64(struct Message *m, uint64_t value);
void put_bytes(struct Message *m, const void *data, size_t size);
uint32_t take32(struct Reply *r);
uint64_t take64(struct Reply *r);
char *take_text(struct Reply *r);
void *take_bytes(struct Reply *r, size_t *size);
int is_there(void);
cl_int ask(enum Request what, struct Message *m, struct Reply *r);
char *device_memory(size_t size, size_t align, size_t past, uint32_t kind, uint64_t number);
void free_device_memory(void *at);
int is_device_memory(const void *at);

/* ---- icd.c, platform.c */
extern void *dispatch[];
extern const size_t dispatch_count;
extern struct Object the_platform, the_device;

/* ---- queue.c */
void *command(struct Queue *q, cl_uint type, cl_int (*run)(struct Command *));
void keep(struct Command *c, void *object);
int keep_if_there(struct Command *c, void *object, enum Kind kind, uint64_t number);
void cancel(struct Command *c);
cl_int check_waits(struct Context *context, cl_uint count, const cl_event *waits);
cl_int enqueue(struct Command *c, cl_uint count, const cl_event *waits, cl_event *event, cl_bool blocking);
void free_event(struct Event *e);

/* ---- transfer.c */
void fill_line(char *to, size_t bytes, const char *pattern, size_t size);

/* ---- memory.c, image.c */
#define ACCESS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define HOST_ACCESS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define HOST_MEMORY (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)
#define IMAGE_ALIGNMENT 4 /* texels: of rows in a buffer, and of its beginning */
int is_narrower(cl_bitfield whole, cl_bitfield part);
cl_bitfield inherited(cl_bitfield whole, cl_bitfield part);
struct Box { char *start; size_t bytes, rows, slices, y, z; }; /* of an image in device memory */
cl_int check_flags(cl_bitfield flags, const void *host);
cl_int check_bytes(const void *at, size_t size);
int is_block(const void *at);
struct Memory *new_memory(struct Context *context, cl_uint type, cl_bitfield flags, size_t size);
cl_int check_box(const struct Memory *m, const size_t *origin, const size_t *region);
struct Box box_of(const struct Memory *m, const size_t *origin, const size_t *region);
cl_int texel_of(const struct Memory *m, const void *color, char *texel);

#define MEMORY_NAME "eumu-opencl-memory" /* as the system shows the file of device memory */

/* ---- pages.c */
void share_pages(struct Memory *m);
int unshare_pages(struct Memory *m);
void unshare_all(void);

/* ---- memory.c, program.c: what ends with an object, and what a kernel keeps */
void free_memory(struct Memory *m);
void free_program(struct Program *p);
void free_kernel(struct Kernel *k);
void free_built(struct Built *b);

/* ---- misuse.c */
void because(const char *format, ...) __attribute__((format(printf, 1, 2)));
cl_int refused(cl_int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *watched(void *function);
const char *name_of(const struct Object *o, char *text, size_t size);
void for_each_left(void (*note)(const struct Object *));
void for_each_block(void (*note)(const struct Object *));
void begin_map(struct Map *map, const struct Memory *m, char *start, size_t bytes);
void end_map(struct Map *map);
void check_mapped(const char *what, const char *start, size_t bytes, int is_written);
void check_launch(const char *kernel, const char *start, size_t bytes, int before, uint64_t *sum);
void check_constant(const char *kernel, const struct Memory *m, int before, uint64_t *sum);
