/* Buffers, sub-buffers, images, samplers, and memory that programs share by address. */
#include "driver.h"

enum { OF_BUFFER, OF_SVM, OF_HOST, OF_DEVICE, OF_SHARED, OF_WRITE_ONLY }; /* allocations, as protocol.py has them */

#define SVM_BITS (CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)

static int bits(cl_bitfield flags) { return __builtin_popcountll(flags); }

cl_int check_flags(cl_bitfield flags, const void *host) {
  if (flags & ~(ACCESS | HOST_ACCESS | HOST_MEMORY | CL_MEM_KERNEL_READ_AND_WRITE)) return refused(CL_INVALID_VALUE, "flags %#llx have bits that mean nothing", (unsigned long long)flags);
  if (bits(flags & ACCESS) > 1 || bits(flags & HOST_ACCESS) > 1) return refused(CL_INVALID_VALUE, "flags %#llx exclude each other", (unsigned long long)flags);
  if (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) return refused(CL_INVALID_VALUE, "CL_MEM_USE_HOST_PTR excludes CL_MEM_ALLOC_HOST_PTR and CL_MEM_COPY_HOST_PTR");
  if (!host && flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) return refused(CL_INVALID_HOST_PTR, "the flags ask for a host pointer, which is null");
  if (host && !(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR))) return refused(CL_INVALID_HOST_PTR, "there is a host pointer, and neither CL_MEM_USE_HOST_PTR nor CL_MEM_COPY_HOST_PTR");
  return CL_SUCCESS;
}

struct Memory *new_memory(struct Context *context, cl_uint type, cl_bitfield flags, size_t size) {
  struct Memory *m = make(MEMORY, sizeof *m);
  use(m->context = context);
  m->type = type, m->size = size;
  m->flags = flags & ACCESS ? flags : flags | CL_MEM_READ_WRITE;
  return m;
}

void free_memory(struct Memory *m) {
  int is_alone = unshare_pages(m); /* the program's functions may give its memory to others */
  call_back(&m->destructors, m);
  while (m->maps) {
    struct Map *map = m->maps;
    m->maps = map->next;
    if (facts.checks) end_map(map);
    free(map);
  }
  if (m->owns && is_alone && m->context->generation == generation) {
    if (m->image) {
      struct Message message = {0};
      put64(&message, m->image);
      ask(FREE_IMAGE, &message, 0);
    } else free_device_memory(m->data);
  }
  unuse(m->parent);
  unuse(m->context);
}

ENTRY cl_mem clCreateBufferWithProperties(cl_context context, const cl_ulong *list, cl_bitfield flags, size_t size, void *host, cl_int *error) {
  struct Memory *m = 0;
  cl_int wrong = CL_SUCCESS;
  if (!is_object(context, CONTEXT)) wrong = CL_INVALID_CONTEXT;
  else if (list && list[0]) wrong = refused(CL_INVALID_PROPERTY, "%#llx is no property of buffers", (unsigned long long)list[0]);
  else if (!(wrong = check_flags(flags, host)) && (!size || size > facts.most_bytes)) wrong = refused(CL_INVALID_BUFFER_SIZE, "%zu bytes; a buffer has 1 to %llu", size, (unsigned long long)facts.most_bytes);
  if (!wrong && host && check_bytes(host, size)) wrong = CL_INVALID_BUFFER_SIZE;
  if (!wrong) {
    m = new_memory((void *)context, CL_MEM_OBJECT_BUFFER, flags, size);
    m->property_count = list ? 1 : 0;
    if (flags & CL_MEM_USE_HOST_PTR) m->host = host;
    m->owns = !(m->host && is_device_memory(host));
    size_t align = m->host ? 4096 : 128; /* pages of the program may become device memory */
    int kind = facts.checks && flags & CL_MEM_WRITE_ONLY ? OF_WRITE_ONLY : OF_BUFFER;
    m->data = m->owns ? device_memory(size, align, (uintptr_t)m->host % align, kind, m->base.number) : host;
    if (!m->data) {
      clReleaseMemObject((cl_mem)m);
      m = 0, wrong = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    } else if (host && m->owns) {
      memcpy(m->data, host, size);
      if (m->host) share_pages(m);
    }
  }
  if (error) *error = wrong;
  return (cl_mem)m;
}

ENTRY cl_mem clCreateBuffer(cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *error) {
  return clCreateBufferWithProperties(context, 0, flags, size, host, error);
}

/* Whether what is made of a buffer asks for no access that the buffer lacks. */
int is_narrower(cl_bitfield whole, cl_bitfield part) {
  if (whole & CL_MEM_WRITE_ONLY && part & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) return 0;
  if (whole & CL_MEM_READ_ONLY && part & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) return 0;
  if (whole & CL_MEM_HOST_WRITE_ONLY && part & CL_MEM_HOST_READ_ONLY) return 0;
  if (whole & CL_MEM_HOST_READ_ONLY && part & CL_MEM_HOST_WRITE_ONLY) return 0;
  return !(whole & CL_MEM_HOST_NO_ACCESS && part & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY));
}

/* The flags of what is made of a buffer: what it does not say is the buffer's. */
cl_bitfield inherited(cl_bitfield whole, cl_bitfield part) {
  if (!(part & ACCESS)) part |= whole & ACCESS;
  if (!(part & HOST_ACCESS)) part |= whole & HOST_ACCESS;
  return part | (whole & HOST_MEMORY);
}

static cl_int check_part(struct Memory *m, cl_bitfield flags, cl_uint what, const cl_buffer_region *part) {
  char name[160];
  if (!is_object(m, MEMORY)) return CL_INVALID_MEM_OBJECT;
  if (m->type != CL_MEM_OBJECT_BUFFER || m->parent) return refused(CL_INVALID_MEM_OBJECT, "%s is no whole buffer", name_of(&m->base, name, sizeof name));
  if (flags & ~(ACCESS | HOST_ACCESS) || bits(flags & ACCESS) > 1 || bits(flags & HOST_ACCESS) > 1) return refused(CL_INVALID_VALUE, "flags %#llx are none of a sub-buffer", (unsigned long long)flags);
  if (!is_narrower(m->flags, flags)) return refused(CL_INVALID_VALUE, "the flags allow what those of %s do not", name_of(&m->base, name, sizeof name));
  if (what != CL_BUFFER_CREATE_TYPE_REGION || !part) return refused(CL_INVALID_VALUE, "there is no region");
  if (!part->size) return refused(CL_INVALID_BUFFER_SIZE, "the region has no byte");
  if (part->origin > m->size || part->size > m->size - part->origin) return refused(CL_INVALID_VALUE, "%zu bytes from byte %zu on of %s", part->size, part->origin, name_of(&m->base, name, sizeof name));
  return part->origin % 128 ? refused(CL_MISALIGNED_SUB_BUFFER_OFFSET, "byte %zu is no multiple of 128", part->origin) : CL_SUCCESS;
}

ENTRY cl_mem clCreateSubBuffer(cl_mem buffer, cl_bitfield flags, cl_uint what, const void *info, cl_int *error) {
  struct Memory *whole = (void *)buffer, *m = 0;
  const cl_buffer_region *part = info;
  cl_int wrong = check_part(whole, flags, what, part);
  if (!wrong) {
    m = new_memory(whole->context, CL_MEM_OBJECT_BUFFER, inherited(whole->flags, flags), part->size);
    use(m->parent = whole);
    m->offset = part->origin;
    m->data = whole->data + part->origin;
    if (whole->host) m->host = whole->host + part->origin;
  }
  if (error) *error = wrong;
  return (cl_mem)m;
}

ENTRY cl_int clRetainMemObject(cl_mem m) { return retain(m, MEMORY, CL_INVALID_MEM_OBJECT); }
ENTRY cl_int clReleaseMemObject(cl_mem m) { return release(m, MEMORY, CL_INVALID_MEM_OBJECT); }

ENTRY cl_int clSetMemObjectDestructorCallback(cl_mem memory, void (*call)(cl_mem, void *), void *user) {
  if (!is_object(memory, MEMORY)) return CL_INVALID_MEM_OBJECT;
  if (!call) return refused(CL_INVALID_VALUE, "there is no function to call");
  return add_callback(&((struct Memory *)memory)->destructors, (Notify)call, 0, user);
}

ENTRY cl_int clGetMemObjectInfo(cl_mem memory, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Memory *m = (void *)memory;
  if (!is_object(m, MEMORY)) return CL_INVALID_MEM_OBJECT;
  cl_bool is_svm = m->host && is_device_memory(m->host);
  switch (what) {
    case CL_MEM_TYPE: return answer(&m->type, sizeof m->type, size, value, size_ret);
    case CL_MEM_FLAGS: return answer(&m->flags, sizeof m->flags, size, value, size_ret);
    case CL_MEM_SIZE: return answer(&m->size, sizeof m->size, size, value, size_ret);
    case CL_MEM_HOST_PTR: return answer(&m->host, sizeof m->host, size, value, size_ret);
    case CL_MEM_MAP_COUNT: return answer(&m->map_count, sizeof m->map_count, size, value, size_ret);
    case CL_MEM_REFERENCE_COUNT: return answer(&m->base.refs, sizeof m->base.refs, size, value, size_ret);
    case CL_MEM_CONTEXT: return answer(&m->context, sizeof m->context, size, value, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT: return answer(&m->parent, sizeof m->parent, size, value, size_ret);
    case CL_MEM_OFFSET: return answer(&m->offset, sizeof m->offset, size, value, size_ret);
    case CL_MEM_USES_SVM_POINTER: return answer(&is_svm, sizeof is_svm, size, value, size_ret);
    case CL_MEM_PROPERTIES:
      return answer(m->property_list, m->property_count * sizeof(cl_ulong), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

/* ---- samplers */

ENTRY cl_sampler clCreateSamplerWithProperties(cl_context context, const cl_ulong *list, cl_int *error) {
  struct Sampler found = {.normalized = CL_TRUE, .addressing = CL_ADDRESS_CLAMP, .filter = CL_FILTER_NEAREST}, *s = 0;
  cl_int wrong = is_object(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
  if (!wrong && !facts.has_images) wrong = refused(CL_INVALID_OPERATION, "the device has no images");
  for (const cl_ulong *at = list; !wrong && at && at[0]; at += 2) {
    if (found.property_count > 5) { wrong = CL_INVALID_VALUE; break; }
    if (at[0] == CL_SAMPLER_NORMALIZED_COORDS && at[1] <= 1) found.normalized = at[1];
    else if (at[0] == CL_SAMPLER_ADDRESSING_MODE && at[1] - CL_ADDRESS_NONE <= 4) found.addressing = at[1];
    else if (at[0] == CL_SAMPLER_FILTER_MODE && at[1] - CL_FILTER_NEAREST <= 1) found.filter = at[1];
    else wrong = refused(CL_INVALID_VALUE, "property %#llx of a sampler cannot be %#llx", (unsigned long long)at[0], (unsigned long long)at[1]);
    found.property_list[found.property_count++] = at[0];
    found.property_list[found.property_count++] = at[1];
  }
  if (list) found.property_list[found.property_count++] = 0;
  if (error) *error = wrong;
  if (wrong) return 0;
  s = make(SAMPLER, sizeof *s);
  found.base = s->base;
  *s = found;
  use(s->context = (void *)context);
  return (cl_sampler)s;
}

ENTRY cl_sampler clCreateSampler(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter, cl_int *error) {
  cl_ulong list[] = {CL_SAMPLER_NORMALIZED_COORDS, normalized, CL_SAMPLER_ADDRESSING_MODE, addressing, CL_SAMPLER_FILTER_MODE, filter, 0};
  cl_sampler made = clCreateSamplerWithProperties(context, list, error);
  if (made) ((struct Sampler *)made)->property_count = 0;
  return made;
}

ENTRY cl_int clGetSamplerInfo(cl_sampler sampler, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Sampler *s = (void *)sampler;
  if (!is_object(s, SAMPLER)) return CL_INVALID_SAMPLER;
  switch (what) {
    case CL_SAMPLER_REFERENCE_COUNT: return answer(&s->base.refs, sizeof s->base.refs, size, value, size_ret);
    case CL_SAMPLER_CONTEXT: return answer(&s->context, sizeof s->context, size, value, size_ret);
    case CL_SAMPLER_NORMALIZED_COORDS: return answer(&s->normalized, sizeof s->normalized, size, value, size_ret);
    case CL_SAMPLER_ADDRESSING_MODE: return answer(&s->addressing, sizeof s->addressing, size, value, size_ret);
    case CL_SAMPLER_FILTER_MODE: return answer(&s->filter, sizeof s->filter, size, value, size_ret);
    case CL_SAMPLER_PROPERTIES:
      return answer(s->property_list, s->property_count * sizeof(cl_ulong), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clRetainSampler(cl_sampler s) { return retain(s, SAMPLER, CL_INVALID_SAMPLER); }
ENTRY cl_int clReleaseSampler(cl_sampler s) { return release(s, SAMPLER, CL_INVALID_SAMPLER); }

/* ---- memory by address: SVM and Intel's unified shared memory */

struct Block { struct Block *next; uint64_t number; char *start; size_t size; uint32_t kind; cl_ulong flags; struct Context *context; };
static struct Block *blocks;
static uint64_t block_count;

static struct Memory stand_in(const struct Block *b) {
  return (struct Memory){.base = {.kind = MEMORY, .number = b->number}, .type = b->kind, .size = b->size};
}

/* Memory by address that was not given back, as objects that have its name; under `state`. */
void for_each_block(void (*note)(const struct Object *)) {
  for (struct Block *b = blocks; b; b = b->next) {
    struct Memory stands_for = stand_in(b);
    note(&stands_for.base);
  }
}

static struct Block *block_at(const void *pointer) {
  struct Block *found = 0;
  pthread_mutex_lock(&state);
  for (struct Block *b = blocks; b && !found; b = b->next)
    if ((const char *)pointer >= b->start && (const char *)pointer < b->start + b->size) found = b;
  pthread_mutex_unlock(&state);
  return found;
}

int is_block(const void *at) { return block_at(at) != 0; }

/* Whether bytes that a call gives by address are of one allocation, if they are device memory. */
cl_int check_bytes(const void *at, size_t size) {
  char name[160];
  size_t past = 0;
  int is_block = 0, is_inside = 0;
  if (!size || !is_device_memory(at)) return CL_SUCCESS;
  pthread_mutex_lock(&state);
  for (struct Block *b = blocks; b && !is_block; b = b->next) {
    past = (const char *)at - b->start;
    if (!(is_block = (const char *)at >= b->start && past < b->size)) continue;
    is_inside = size <= b->size - past;
    struct Memory stands_for = stand_in(b);
    name_of(&stands_for.base, name, sizeof name);
  }
  pthread_mutex_unlock(&state);
  if (is_block) return is_inside ? CL_SUCCESS : refused(CL_INVALID_VALUE, "%zu bytes from byte %zu on of %s", size, past, name);
  if (!facts.checks) return CL_SUCCESS;
  struct Message m = {0};
  struct Reply r = {0};
  put64(&m, (uintptr_t)at), put64(&m, size);
  cl_int wrong = ask(WHERE, &m, &r) == CL_INVALID_VALUE ? CL_INVALID_VALUE : CL_SUCCESS;
  char *why = wrong ? take_text(&r) : 0;
  if (why) because("%s", why);
  free(why), free(r.data);
  return wrong;
}

static void *new_block(cl_context context, size_t size, size_t align, uint32_t kind, cl_ulong flags, cl_int *error) {
  cl_int wrong = CL_SUCCESS;
  struct Block *b = 0;
  if (!is_object(context, CONTEXT)) wrong = CL_INVALID_CONTEXT;
  else if (!size || size > facts.most_bytes) wrong = refused(CL_INVALID_BUFFER_SIZE, "%zu bytes; an allocation has 1 to %llu", size, (unsigned long long)facts.most_bytes);
  else if (align & (align - 1) || align > 65536) wrong = refused(CL_INVALID_VALUE, "an alignment of %zu bytes; it is a power of two up to 65536", align);
  if (!wrong) {
    b = room(sizeof *b);
    *b = (struct Block){.size = size, .kind = kind, .flags = flags, .context = (void *)context};
    pthread_mutex_lock(&state);
    uint64_t number = ++block_count;
    pthread_mutex_unlock(&state);
    b->number = number;
    b->start = device_memory(size, align > 128 ? align : 128, 0, kind, number);
    if (!b->start) { free(b); wrong = CL_OUT_OF_RESOURCES; }
  }
  if (error) *error = wrong;
  if (wrong) return 0;
  pthread_mutex_lock(&state);
  b->next = blocks, blocks = b;
  pthread_mutex_unlock(&state);
  return b->start;
}

static cl_int free_block(void *pointer) {
  struct Block **at, *found = 0;
  pthread_mutex_lock(&state);
  for (at = &blocks; *at && (*at)->start != pointer; at = &(*at)->next) {}
  if ((found = *at)) *at = found->next;
  pthread_mutex_unlock(&state);
  if (!found) return refused(CL_INVALID_VALUE, "no allocation starts at %p", pointer);
  free_device_memory(pointer);
  free(found);
  return CL_SUCCESS;
}

ENTRY void *clSVMAlloc(cl_context context, cl_bitfield flags, size_t size, cl_uint align) {
  if (flags & ~(ACCESS | SVM_BITS) || bits(flags & ACCESS) > 1) return 0;
  if (flags & CL_MEM_SVM_ATOMICS && !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)) return 0;
  if (flags & CL_MEM_SVM_ATOMICS || align > 128) return 0; /* not offered; the largest type has 128 bytes */
  return new_block(context, size, align, OF_SVM, flags, 0);
}

ENTRY void clSVMFree(cl_context context, void *pointer) {
  if (is_object(context, CONTEXT)) free_block(pointer);
}

static void *no_block(cl_int wrong, cl_int *error) {
  if (error) *error = wrong;
  return 0;
}

static void *new_usm(cl_context c, const cl_ulong *list, size_t size, cl_uint align, uint32_t kind, cl_int *error) {
  cl_ulong flags = 0;
  if (!is_object(c, CONTEXT)) return no_block(CL_INVALID_CONTEXT, error);
  for (; list && list[0]; list += 2) {
    if (list[0] != CL_MEM_ALLOC_FLAGS_INTEL) return no_block(refused(CL_INVALID_PROPERTY, "%#llx is no property of an allocation", (unsigned long long)list[0]), error);
    flags = list[1];
  }
  return new_block(c, size, align, kind, flags, error);
}

ENTRY void *clHostMemAllocINTEL(cl_context c, const cl_ulong *list, size_t size, cl_uint align, cl_int *error) {
  return new_usm(c, list, size, align, OF_HOST, error);
}

ENTRY void *clDeviceMemAllocINTEL(cl_context c, cl_device_id d, const cl_ulong *list, size_t size, cl_uint align, cl_int *error) {
  return is_object(d, DEVICE) ? new_usm(c, list, size, align, OF_DEVICE, error) : no_block(CL_INVALID_DEVICE, error);
}

ENTRY void *clSharedMemAllocINTEL(cl_context c, cl_device_id d, const cl_ulong *list, size_t size, cl_uint align, cl_int *error) {
  return !d || is_object(d, DEVICE) ? new_usm(c, list, size, align, OF_SHARED, error) : no_block(CL_INVALID_DEVICE, error);
}

ENTRY cl_int clMemFreeINTEL(cl_context context, void *pointer) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  return pointer ? free_block(pointer) : CL_SUCCESS;
}

/* Who uses the memory is not known: all commands of the context may. */
ENTRY cl_int clMemBlockingFreeINTEL(cl_context context, void *pointer) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  pthread_mutex_lock(&state);
  while (((struct Context *)context)->commands) pthread_cond_wait(&changed, &state);
  pthread_mutex_unlock(&state);
  return clMemFreeINTEL(context, pointer);
}

ENTRY cl_int clGetMemAllocInfoINTEL(cl_context context, const void *pointer, cl_uint what, size_t size, void *value, size_t *size_ret) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  static const cl_uint types[] = {CL_MEM_TYPE_UNKNOWN_INTEL, CL_MEM_TYPE_UNKNOWN_INTEL, CL_MEM_TYPE_HOST_INTEL, CL_MEM_TYPE_DEVICE_INTEL, CL_MEM_TYPE_SHARED_INTEL};
  struct Block *b = block_at(pointer);
  cl_uint type = b ? types[b->kind] : CL_MEM_TYPE_UNKNOWN_INTEL;
  void *start = b ? b->start : 0, *device = b && b->kind >= OF_DEVICE ? &the_device : 0;
  size_t bytes = b ? b->size : 0;
  cl_ulong flags = b ? b->flags : 0;
  switch (what) {
    case CL_MEM_ALLOC_TYPE_INTEL: return answer(&type, sizeof type, size, value, size_ret);
    case CL_MEM_ALLOC_BASE_PTR_INTEL: return answer(&start, sizeof start, size, value, size_ret);
    case CL_MEM_ALLOC_SIZE_INTEL: return answer(&bytes, sizeof bytes, size, value, size_ret);
    case CL_MEM_ALLOC_DEVICE_INTEL: return answer(&device, sizeof device, size, value, size_ret);
    case CL_MEM_ALLOC_FLAGS_INTEL: return answer(&flags, sizeof flags, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}
