/* Commands that move bytes: read, write, copy, fill, map.  Device memory is the program's too, so
 * they need no engine. */
#include "driver.h"

static size_t extent(const struct Command *c, size_t rows, size_t slices) {
  return (c->region[2] - 1) * slices + (c->region[1] - 1) * rows + c->region[0];
}

static int reads_object(cl_uint type) { return type == CL_COMMAND_READ_BUFFER || type == CL_COMMAND_READ_BUFFER_RECT || type == CL_COMMAND_READ_IMAGE; }

static int writes_object(cl_uint type) { return type == CL_COMMAND_WRITE_BUFFER || type == CL_COMMAND_WRITE_BUFFER_RECT || type == CL_COMMAND_WRITE_IMAGE; }

/* A pointer that the program gives may well lie in memory that it has mapped: that is its own then,
 * as in transfers by way of a mapped buffer. */
static void check_maps(const struct Command *c) {
  if (!facts.checks || c->map) return;
  if (c->from && !writes_object(c->event->type)) check_mapped("a command", c->from, extent(c, c->from_rows, c->from_slices), 0);
  if (!reads_object(c->event->type)) check_mapped("a command", c->to, extent(c, c->to_rows, c->to_slices), 1);
}

static cl_int move_rows(struct Command *c) {
  check_maps(c);
  for (size_t z = 0; z < c->region[2]; z++)
    for (size_t y = 0; y < c->region[1]; y++)
      memmove(c->to + z * c->to_slices + y * c->to_rows, c->from + z * c->from_slices + y * c->from_rows, c->region[0]);
  return CL_SUCCESS;
}

#define FILL_BYTES 16384 /* that are copied at once: they stay in the first cache */

/* Repeat a pattern: what has been written is copied behind itself. */
void fill_line(char *to, size_t bytes, const char *pattern, size_t size) {
  memcpy(to, pattern, size < bytes ? size : bytes);
  for (size_t done = size, step; done < bytes; done += step) {
    step = done < FILL_BYTES ? done : FILL_BYTES;
    if (step > bytes - done) step = bytes - done;
    memcpy(to + done, to, step);
  }
}

static cl_int fill_rows(struct Command *c) {
  check_maps(c);
  for (size_t z = 0; z < c->region[2]; z++)
    for (size_t y = 0; y < c->region[1]; y++)
      fill_line(c->to + z * c->to_slices + y * c->to_rows, c->region[0], c->copy, c->pattern);
  return CL_SUCCESS;
}

static void set_line(struct Command *c, void *to, const void *from, size_t size) {
  c->to = to, c->from = from;
  c->region[0] = size, c->region[1] = c->region[2] = 1;
}

static void set3(size_t *to, size_t x, size_t y, size_t z) { to[0] = x, to[1] = y, to[2] = z; }

static cl_int wrong_kind(const struct Memory *m, int is_image) {
  char name[160];
  return refused(CL_INVALID_MEM_OBJECT, "%s is no %s", name_of(&m->base, name, sizeof name), is_image ? "image" : "buffer");
}

static cl_int no_pointer(void) { return refused(CL_INVALID_VALUE, "the pointer to the program's memory is null"); }

/* A command of the program's that the flags of a memory object exclude. */
static cl_int wrong_access(const struct Memory *m, int reads) {
  char name[160];
  return refused(CL_INVALID_OPERATION, "the flags of %s say that the program does not %s it", name_of(&m->base, name, sizeof name), reads ? "read" : "write");
}

/* What commands on a buffer or image begin with. */
static cl_int check(cl_command_queue queue, void *memory, int is_image, cl_uint count, const cl_event *waits) {
  struct Queue *q = (void *)queue;
  struct Memory *m = memory;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!is_object(m, MEMORY)) return CL_INVALID_MEM_OBJECT;
  if (is_image != (m->type != CL_MEM_OBJECT_BUFFER)) return wrong_kind(m, is_image);
  char name[160];
  if (m->context != q->context) return refused(CL_INVALID_CONTEXT, "%s is of another context than the queue", name_of(&m->base, name, sizeof name));
  return check_waits(q->context, count, waits);
}

static int is_inside(const struct Memory *m, size_t offset, size_t size) {
  char name[160];
  int found = offset <= m->size && size <= m->size - offset;
  if (!found) because("%zu bytes from byte %zu on of %s", size, offset, name_of(&m->base, name, sizeof name));
  return found;
}

/* ---- lines of buffers */

static cl_int line(cl_command_queue q, cl_mem memory, cl_uint type, cl_bool blocking, size_t offset, size_t size, void *host, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  int reads = type == CL_COMMAND_READ_BUFFER;
  cl_int wrong = check(q, m, 0, count, waits);
  if (wrong) return wrong;
  if (!host) return no_pointer();
  if (!is_inside(m, offset, size)) return CL_INVALID_VALUE;
  cl_bitfield refuses = CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
  if (m->flags & refuses) return wrong_access(m, reads);
  if ((wrong = check_bytes(host, size))) return wrong;
  struct Command *c = command((void *)q, type, move_rows);
  keep(c, m);
  if (reads) set_line(c, host, m->data + offset, size);
  else set_line(c, m->data + offset, host, size);
  return enqueue(c, count, waits, event, blocking);
}

ENTRY cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, void *to, cl_uint count, const cl_event *waits, cl_event *event) {
  return line(q, m, CL_COMMAND_READ_BUFFER, blocking, offset, size, to, count, waits, event);
}

ENTRY cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, const void *from, cl_uint count, const cl_event *waits, cl_event *event) {
  return line(q, m, CL_COMMAND_WRITE_BUFFER, blocking, offset, size, (void *)from, count, waits, event);
}

ENTRY cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *a = (void *)from, *b = (void *)to;
  cl_int wrong = check(q, a, 0, count, waits);
  if (!wrong) wrong = check(q, b, 0, count, waits);
  if (wrong) return wrong;
  if (!is_inside(a, from_offset, size) || !is_inside(b, to_offset, size)) return CL_INVALID_VALUE;
  char *source = a->data + from_offset, *target = b->data + to_offset;
  if (source < target + size && target < source + size) return refused(CL_MEM_COPY_OVERLAP, "%zu bytes from byte %zu on and from byte %zu on of the same buffer", size, from_offset, to_offset);
  struct Command *c = command((void *)q, CL_COMMAND_COPY_BUFFER, move_rows);
  keep(c, a), keep(c, b);
  set_line(c, target, source, size);
  return enqueue(c, count, waits, event, CL_FALSE);
}

static int is_pattern(size_t size) { return size && size <= 128 && !(size & (size - 1)); }

static void set_pattern(struct Command *c, const void *pattern, size_t size) {
  c->copy = memcpy(room(size), pattern, size);
  c->pattern = size;
}

ENTRY cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem memory, const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  cl_int wrong = check(q, m, 0, count, waits);
  if (wrong) return wrong;
  if (!is_inside(m, offset, size)) return CL_INVALID_VALUE;
  if (!pattern || !is_pattern(pattern_size)) return refused(CL_INVALID_VALUE, "a pattern of %zu bytes; it has 1, 2, 4, ... or 128", pattern ? pattern_size : 0);
  if (offset % pattern_size || size % pattern_size) return refused(CL_INVALID_VALUE, "%zu bytes from byte %zu on are no multiples of the pattern's %zu bytes", size, offset, pattern_size);
  struct Command *c = command((void *)q, CL_COMMAND_FILL_BUFFER, fill_rows);
  keep(c, m);
  set_line(c, m->data + offset, 0, size);
  set_pattern(c, pattern, pattern_size);
  return enqueue(c, count, waits, event, CL_FALSE);
}

/* ---- rectangles of buffers */

/* x + y * rows + z * slices, or what no memory has where that is too large. */
static size_t place(size_t x, size_t y, size_t rows, size_t z, size_t slices) {
  size_t far, farther, sum;
  if (__builtin_mul_overflow(y, rows, &far) || __builtin_mul_overflow(z, slices, &farther)) return SIZE_MAX;
  return __builtin_add_overflow(far, farther, &sum) || __builtin_add_overflow(sum, x, &sum) ? SIZE_MAX : sum;
}

/* Distances that are 0 follow from the region; the bytes from the first to the last, or 0. */
static size_t measure(const size_t *region, size_t *rows, size_t *slices) {
  if (!region || !region[0] || !region[1] || !region[2]) return 0;
  if (!*rows) *rows = region[0];
  if (*rows < region[0]) return 0;
  size_t slice = place(0, region[1], *rows, 0, 0);
  if (!*slices) *slices = slice;
  if (slice == SIZE_MAX || *slices < slice || *slices % *rows) return 0;
  size_t bytes = place(region[0], region[1] - 1, *rows, region[2] - 1, *slices);
  return bytes == SIZE_MAX ? 0 : bytes;
}

static cl_int wrong_region(void) { return refused(CL_INVALID_VALUE, "an origin or the region is null, the region is empty, or a pitch is less than it"); }

static size_t start_of(const size_t *origin, size_t rows, size_t slices) {
  return place(origin[0], origin[1], rows, origin[2], slices);
}

static cl_int rectangle(cl_command_queue q, cl_mem memory, cl_uint type, cl_bool blocking, const size_t *origin, const size_t *host_origin, const size_t *region, size_t rows, size_t slices, size_t host_rows, size_t host_slices, char *host, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  int reads = type == CL_COMMAND_READ_BUFFER_RECT;
  cl_int wrong = check(q, m, 0, count, waits);
  if (wrong) return wrong;
  size_t bytes = measure(region, &rows, &slices), host_bytes = measure(region, &host_rows, &host_slices);
  if (!host) return no_pointer();
  if (!origin || !host_origin || !bytes || !host_bytes) return wrong_region();
  if (start_of(host_origin, host_rows, host_slices) == SIZE_MAX) return wrong_region();
  if (!is_inside(m, start_of(origin, rows, slices), bytes)) return CL_INVALID_VALUE;
  cl_bitfield refuses = CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
  if (m->flags & refuses) return wrong_access(m, reads);
  char *there = m->data + start_of(origin, rows, slices), *here = host + start_of(host_origin, host_rows, host_slices);
  if ((wrong = check_bytes(here, host_bytes))) return wrong;
  struct Command *c = command((void *)q, type, move_rows);
  keep(c, m);
  set3(c->region, region[0], region[1], region[2]);
  c->to = reads ? here : there, c->from = reads ? there : here;
  c->to_rows = reads ? host_rows : rows, c->to_slices = reads ? host_slices : slices;
  c->from_rows = reads ? rows : host_rows, c->from_slices = reads ? slices : host_slices;
  return enqueue(c, count, waits, event, blocking);
}

ENTRY cl_int clEnqueueReadBufferRect(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *host_origin, const size_t *region, size_t rows, size_t slices, size_t host_rows, size_t host_slices, void *to, cl_uint count, const cl_event *waits, cl_event *event) {
  return rectangle(q, m, CL_COMMAND_READ_BUFFER_RECT, blocking, origin, host_origin, region, rows, slices, host_rows, host_slices, to, count, waits, event);
}

ENTRY cl_int clEnqueueWriteBufferRect(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *host_origin, const size_t *region, size_t rows, size_t slices, size_t host_rows, size_t host_slices, const void *from, cl_uint count, const cl_event *waits, cl_event *event) {
  return rectangle(q, m, CL_COMMAND_WRITE_BUFFER_RECT, blocking, origin, host_origin, region, rows, slices, host_rows, host_slices, (void *)from, count, waits, event);
}

/* Whether two boxes of one memory have a byte in common, looked at row by row. */
static int overlap(const struct Command *c) {
  for (size_t z = 0; z < c->region[2]; z++)
    for (size_t y = 0; y < c->region[1]; y++) {
      const char *from = c->from + z * c->from_slices + y * c->from_rows;
      for (size_t w = 0; w < c->region[2]; w++) {
        const char *first = c->to + w * c->to_slices;
        ptrdiff_t past = from - first;
        ptrdiff_t row = c->to_rows ? past / (ptrdiff_t)c->to_rows : 0;
        for (ptrdiff_t v = row - 1; v <= row + 1; v++) {
          const char *to = first + v * (ptrdiff_t)c->to_rows;
          if (v >= 0 && v < (ptrdiff_t)c->region[1] && from < to + c->region[0] && to < from + c->region[0]) return 1;
        }
      }
    }
  return 0;
}

ENTRY cl_int clEnqueueCopyBufferRect(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region, size_t from_rows, size_t from_slices, size_t to_rows, size_t to_slices, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *a = (void *)from, *b = (void *)to;
  cl_int wrong = check(q, a, 0, count, waits);
  if (!wrong) wrong = check(q, b, 0, count, waits);
  if (wrong) return wrong;
  size_t from_bytes = measure(region, &from_rows, &from_slices), to_bytes = measure(region, &to_rows, &to_slices);
  if (!from_origin || !to_origin || !from_bytes || !to_bytes) return wrong_region();
  if (!is_inside(a, start_of(from_origin, from_rows, from_slices), from_bytes)) return CL_INVALID_VALUE;
  if (!is_inside(b, start_of(to_origin, to_rows, to_slices), to_bytes)) return CL_INVALID_VALUE;
  if (a == b && (from_rows != to_rows || from_slices != to_slices)) return refused(CL_INVALID_VALUE, "pitches of the same buffer differ");
  struct Command *c = command((void *)q, CL_COMMAND_COPY_BUFFER_RECT, move_rows);
  keep(c, a), keep(c, b);
  set3(c->region, region[0], region[1], region[2]);
  c->to = b->data + start_of(to_origin, to_rows, to_slices), c->to_rows = to_rows, c->to_slices = to_slices;
  c->from = a->data + start_of(from_origin, from_rows, from_slices), c->from_rows = from_rows, c->from_slices = from_slices;
  if (overlap(c)) { cancel(c); return refused(CL_MEM_COPY_OVERLAP, "the regions have bytes in common"); }
  return enqueue(c, count, waits, event, CL_FALSE);
}

/* ---- maps: device memory itself, or with CL_MEM_USE_HOST_PTR the program's memory.  Of that, what is
 * not device memory, too (pages.c), gets the contents at the map and gives them back at the unmap */

static int is_apart(const struct Memory *m) { return m->host && m->host != m->data; }

static cl_int move_rest(struct Command *c) {
  const struct Memory *m = c->memory, *whole = m->parent ? m->parent : m;
  if (m->type != CL_MEM_OBJECT_BUFFER || !whole->shared_start) return move_rows(c);
  const char *start = c->map->pointer, *end = start + c->region[0];
  size_t first = start < whole->shared_start ? whole->shared_start - start : 0;
  size_t last = end > whole->shared_end ? end - whole->shared_end : 0;
  if (first + last >= c->region[0]) return move_rows(c);
  memmove(c->to, c->from, first);
  memmove(c->to + c->region[0] - last, c->from + c->region[0] - last, last);
  return CL_SUCCESS;
}

static cl_int map_out(struct Command *c) {
  const struct Memory *m = c->memory;
  size_t image_bytes = (c->region[2] - 1) * m->slices + (c->region[1] - 1) * m->rows + c->region[0];
  if (facts.checks) begin_map(c->map, m, (char *)c->from, m->type == CL_MEM_OBJECT_BUFFER ? c->region[0] : image_bytes);
  if (is_apart(c->memory) && !(c->map->flags & CL_MAP_WRITE_INVALIDATE_REGION)) move_rest(c);
  return CL_SUCCESS;
}

static cl_int map_in(struct Command *c) {
  if (facts.checks) end_map(c->map);
  if (is_apart(c->memory) && c->map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) move_rest(c);
  free(c->map);
  c->map = 0;
  return CL_SUCCESS;
}

static void *add_map(struct Memory *m, struct Command *c, char *pointer, cl_bitfield flags) {
  struct Map *map = room(sizeof *map);
  *map = (struct Map){.pointer = pointer, .flags = flags};
  set3(map->region, c->region[0], c->region[1], c->region[2]);
  pthread_mutex_lock(&state);
  map->next = m->maps, m->maps = map;
  m->map_count++;
  pthread_mutex_unlock(&state);
  c->memory = m, c->map = map;
  return pointer;
}

static struct Map *take_map(struct Memory *m, const void *pointer) {
  struct Map **at, *found;
  pthread_mutex_lock(&state);
  for (at = &m->maps; *at && (*at)->pointer != pointer; at = &(*at)->next) {}
  if ((found = *at)) { *at = found->next; m->map_count--; }
  pthread_mutex_unlock(&state);
  return found;
}

/* Enqueue a map; one that is waited for and fails is none. */
static cl_int enqueue_map(struct Command *c, cl_uint count, const cl_event *waits, cl_event *event, cl_bool blocking) {
  struct Memory *m = c->memory;
  const char *pointer = c->map->pointer;
  use(m);
  cl_int wrong = enqueue(c, count, waits, event, blocking);
  int is_over = blocking && wrong && wrong != CL_OUT_OF_HOST_MEMORY; /* with that error it is still in its queue */
  struct Map *map = is_over ? take_map(m, pointer) : 0;
  if (map && facts.checks) end_map(map);
  free(map);
  unuse(m);
  return wrong;
}

static cl_int check_map(const struct Memory *m, cl_bitfield flags) {
  if (flags & ~7ull || (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE))) return refused(CL_INVALID_VALUE, "flags %#llx are none of a map", (unsigned long long)flags);
  cl_bitfield refuses = CL_MEM_HOST_NO_ACCESS;
  if (flags & CL_MAP_READ) refuses |= CL_MEM_HOST_WRITE_ONLY;
  if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) refuses |= CL_MEM_HOST_READ_ONLY;
  return m->flags & refuses ? wrong_access(m, m->flags & refuses & CL_MEM_HOST_WRITE_ONLY || flags == CL_MAP_READ) : CL_SUCCESS;
}

ENTRY void *clEnqueueMapBuffer(cl_command_queue q, cl_mem memory, cl_bool blocking, cl_bitfield flags, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
  struct Memory *m = (void *)memory;
  char *pointer = 0;
  cl_int wrong = check(q, m, 0, count, waits);
  if (!wrong) wrong = check_map(m, flags);
  if (!wrong && !size) wrong = refused(CL_INVALID_VALUE, "a map of no byte");
  if (!wrong && !is_inside(m, offset, size)) wrong = CL_INVALID_VALUE;
  if (!wrong) {
    struct Command *c = command((void *)q, CL_COMMAND_MAP_BUFFER, map_out);
    keep(c, m);
    pointer = (is_apart(m) ? m->host : m->data) + offset;
    set_line(c, pointer, m->data + offset, size);
    add_map(m, c, pointer, flags);
    wrong = enqueue_map(c, count, waits, event, blocking);
  }
  if (error) *error = wrong;
  return wrong ? 0 : pointer;
}

ENTRY void *clEnqueueMapImage(cl_command_queue q, cl_mem memory, cl_bool blocking, cl_bitfield flags, const size_t *origin, const size_t *region, size_t *rows, size_t *slices, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
  struct Memory *m = (void *)memory;
  char *pointer = 0;
  cl_int wrong = check(q, m, 1, count, waits);
  if (!wrong) wrong = check_map(m, flags);
  if (!wrong) wrong = check_box(m, origin, region);
  int is_layered = !wrong && (m->type == CL_MEM_OBJECT_IMAGE3D || m->type == CL_MEM_OBJECT_IMAGE2D_ARRAY || m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY);
  if (!wrong && (!rows || (is_layered && !slices))) wrong = refused(CL_INVALID_VALUE, "there is no place for a pitch");
  if (!wrong) {
    struct Command *c = command((void *)q, CL_COMMAND_MAP_IMAGE, map_out);
    struct Box box = box_of(m, origin, region);
    keep(c, m);
    size_t host_rows = m->shape.image_row_pitch, host_slices = m->shape.image_slice_pitch;
    size_t at[3] = {origin[0] * m->texel, box.y, box.z};
    pointer = is_apart(m) ? m->host + start_of(at, host_rows, host_slices) : box.start;
    set3(c->region, box.bytes, box.rows, box.slices);
    c->from = box.start, c->from_rows = m->rows, c->from_slices = m->slices;
    c->to = pointer, c->to_rows = host_rows, c->to_slices = host_slices;
    *rows = is_apart(m) ? host_rows : m->rows;
    if (m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) *rows = is_apart(m) ? host_slices : m->slices;
    if (slices) *slices = is_layered ? (is_apart(m) ? host_slices : m->slices) : 0;
    add_map(m, c, pointer, flags);
    wrong = enqueue_map(c, count, waits, event, blocking);
  }
  if (error) *error = wrong;
  return wrong ? 0 : pointer;
}

static void set_unmap(struct Command *c, struct Memory *m, struct Map *map) {
  int is_image = m->type != CL_MEM_OBJECT_BUFFER;
  size_t host_rows = m->shape.image_row_pitch, host_slices = m->shape.image_slice_pitch;
  c->memory = m, c->map = map;
  set3(c->region, map->region[0], map->region[1], map->region[2]);
  if (!is_apart(m)) return;
  size_t past = map->pointer - m->host;
  c->from = map->pointer, c->to = m->data + past;
  if (!is_image) return;
  size_t z = host_slices ? past / host_slices : 0, rest = host_slices ? past % host_slices : past;
  size_t y = host_rows ? rest / host_rows : 0, x = host_rows ? rest % host_rows : rest;
  c->to = m->data + z * m->slices + y * m->rows + x;
  c->from_rows = host_rows, c->from_slices = host_slices;
  c->to_rows = m->rows, c->to_slices = m->slices;
}

ENTRY cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem memory, void *pointer, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  cl_int wrong = is_object(m, MEMORY) ? check(q, m, m->type != CL_MEM_OBJECT_BUFFER, count, waits) : is_object(q, QUEUE) ? CL_INVALID_MEM_OBJECT : CL_INVALID_COMMAND_QUEUE;
  if (wrong) return wrong;
  struct Map *map = take_map(m, pointer);
  char name[160];
  if (!map) return refused(CL_INVALID_VALUE, "%p is no place where %s is mapped", pointer, name_of(&m->base, name, sizeof name));
  struct Command *c = command((void *)q, CL_COMMAND_UNMAP_MEM_OBJECT, map_in);
  keep(c, m);
  set_unmap(c, m, map);
  return enqueue(c, count, waits, event, CL_FALSE);
}

static cl_int nothing(struct Command *c) { (void)c; return CL_SUCCESS; }

ENTRY cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint number, const cl_mem *objects, cl_bitfield flags, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Queue *q = (void *)queue;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!number || !objects || flags & ~3ull) return refused(CL_INVALID_VALUE, "there is no list of memory objects, or flags %#llx mean nothing", (unsigned long long)flags);
  for (cl_uint k = 0; k < number; k++)
    if (!is_object(objects[k], MEMORY)) return CL_INVALID_MEM_OBJECT;
  cl_int wrong = check_waits(q->context, count, waits);
  for (cl_uint k = 0; !wrong && k < number; k++) wrong = check(queue, objects[k], ((struct Memory *)objects[k])->type != CL_MEM_OBJECT_BUFFER, 0, 0);
  return wrong ? wrong : enqueue(command(q, CL_COMMAND_MIGRATE_MEM_OBJECTS, nothing), count, waits, event, CL_FALSE);
}

/* ---- images; in device memory they are rows, too */

static cl_int image_and_host(cl_command_queue q, cl_mem memory, cl_uint type, cl_bool blocking, const size_t *origin, const size_t *region, size_t rows, size_t slices, char *host, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  int reads = type == CL_COMMAND_READ_IMAGE;
  cl_int wrong = check(q, m, 1, count, waits);
  if (!wrong) wrong = check_box(m, origin, region);
  if (wrong) return wrong;
  struct Box box = box_of(m, origin, region);
  if (!host) return no_pointer();
  if (rows && rows < box.bytes) return refused(CL_INVALID_VALUE, "a row pitch of %zu bytes for rows of %zu", rows, box.bytes);
  int is_row_array = m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  if (!rows) rows = box.bytes;
  if (is_row_array && !slices) slices = rows;
  if (!slices) slices = rows * box.rows;
  if (slices < rows * box.rows) return refused(CL_INVALID_VALUE, "a slice pitch of %zu bytes for %zu rows at a pitch of %zu", slices, box.rows, rows);
  cl_bitfield refuses = CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
  if (m->flags & refuses) return wrong_access(m, reads);
  if ((wrong = check_bytes(host, (box.slices - 1) * slices + (box.rows - 1) * rows + box.bytes))) return wrong;
  struct Command *c = command((void *)q, type, move_rows);
  keep(c, m);
  set3(c->region, box.bytes, box.rows, box.slices);
  c->to = reads ? host : box.start, c->from = reads ? box.start : host;
  c->to_rows = reads ? rows : m->rows, c->to_slices = reads ? slices : m->slices;
  c->from_rows = reads ? m->rows : rows, c->from_slices = reads ? m->slices : slices;
  return enqueue(c, count, waits, event, blocking);
}

ENTRY cl_int clEnqueueReadImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *region, size_t rows, size_t slices, void *to, cl_uint count, const cl_event *waits, cl_event *event) {
  return image_and_host(q, m, CL_COMMAND_READ_IMAGE, blocking, origin, region, rows, slices, to, count, waits, event);
}

ENTRY cl_int clEnqueueWriteImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *region, size_t rows, size_t slices, const void *from, cl_uint count, const cl_event *waits, cl_event *event) {
  return image_and_host(q, m, CL_COMMAND_WRITE_IMAGE, blocking, origin, region, rows, slices, (void *)from, count, waits, event);
}

ENTRY cl_int clEnqueueCopyImage(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *a = (void *)from, *b = (void *)to;
  cl_int wrong = check(q, a, 1, count, waits);
  if (!wrong) wrong = check(q, b, 1, count, waits);
  if (!wrong && (a->format.image_channel_order != b->format.image_channel_order || a->format.image_channel_data_type != b->format.image_channel_data_type)) wrong = refused(CL_IMAGE_FORMAT_MISMATCH, "the images have channels of order %#x and type %#x, and %#x and %#x", a->format.image_channel_order, a->format.image_channel_data_type, b->format.image_channel_order, b->format.image_channel_data_type);
  if (!wrong) wrong = check_box(a, from_origin, region);
  if (!wrong) wrong = check_box(b, to_origin, region);
  if (wrong) return wrong;
  struct Box source = box_of(a, from_origin, region), target = box_of(b, to_origin, region);
  struct Command *c = command((void *)q, CL_COMMAND_COPY_IMAGE, move_rows);
  keep(c, a), keep(c, b);
  int is_flat = source.slices == 1 || target.slices == 1; /* rows of one may be slices of the other */
  set3(c->region, source.bytes, source.rows, source.slices);
  c->from = source.start, c->from_rows = a->rows, c->from_slices = a->slices;
  c->to = target.start, c->to_rows = b->rows, c->to_slices = b->slices;
  if (is_flat && source.rows != target.rows && source.slices == 1) c->to_rows = b->slices;
  if (is_flat && source.rows != target.rows && target.slices == 1) c->to_slices = b->rows;
  if (a == b && overlap(c)) { cancel(c); return refused(CL_MEM_COPY_OVERLAP, "the regions have texels in common"); }
  return enqueue(c, count, waits, event, CL_FALSE);
}

static cl_int image_and_buffer(cl_command_queue q, cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region, size_t offset, cl_uint type, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)image, *b = (void *)buffer;
  int reads = type == CL_COMMAND_COPY_IMAGE_TO_BUFFER;
  cl_int wrong = check(q, m, 1, count, waits);
  if (!wrong) wrong = check(q, b, 0, count, waits);
  if (!wrong) wrong = check_box(m, origin, region);
  if (wrong) return wrong;
  struct Box box = box_of(m, origin, region);
  if (!is_inside(b, offset, box.bytes * box.rows * box.slices)) return CL_INVALID_VALUE;
  struct Command *c = command((void *)q, type, move_rows);
  keep(c, m), keep(c, b);
  size_t rows = box.bytes, slices = box.bytes * box.rows;
  set3(c->region, box.bytes, box.rows, box.slices);
  c->to = reads ? b->data + offset : box.start, c->from = reads ? box.start : b->data + offset;
  c->to_rows = reads ? rows : m->rows, c->to_slices = reads ? slices : m->slices;
  c->from_rows = reads ? m->rows : rows, c->from_slices = reads ? m->slices : slices;
  return enqueue(c, count, waits, event, CL_FALSE);
}

ENTRY cl_int clEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset, cl_uint count, const cl_event *waits, cl_event *event) {
  return image_and_buffer(q, from, to, origin, region, offset, CL_COMMAND_COPY_IMAGE_TO_BUFFER, count, waits, event);
}

ENTRY cl_int clEnqueueCopyBufferToImage(cl_command_queue q, cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
  return image_and_buffer(q, to, from, origin, region, offset, CL_COMMAND_COPY_BUFFER_TO_IMAGE, count, waits, event);
}

ENTRY cl_int clEnqueueFillImage(cl_command_queue q, cl_mem memory, const void *color, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Memory *m = (void *)memory;
  char texel[16];
  cl_int wrong = check(q, m, 1, count, waits);
  if (!wrong && !color) wrong = refused(CL_INVALID_VALUE, "the color is null");
  if (!wrong) wrong = check_box(m, origin, region);
  if (!wrong) wrong = texel_of(m, color, texel);
  if (wrong) return wrong;
  struct Box box = box_of(m, origin, region);
  struct Command *c = command((void *)q, CL_COMMAND_FILL_IMAGE, fill_rows);
  keep(c, m);
  set3(c->region, box.bytes, box.rows, box.slices);
  c->to = box.start, c->to_rows = m->rows, c->to_slices = m->slices;
  set_pattern(c, texel, m->texel);
  return enqueue(c, count, waits, event, CL_FALSE);
}
