/* Kernels: their arguments, what they are asked, and their launches. */
#include "driver.h"

enum { VALUE, POINTER, LOCAL, IMAGE_ARGUMENT, SAMPLER_ARGUMENT }; /* as protocol.py has them */

static struct Entry *entry_of(const struct Kernel *k) { return &k->built->entries[k->index]; }

void free_kernel(struct Kernel *k) {
  for (uint32_t j = 0; j < entry_of(k)->count; j++) free(k->arguments[j].value);
  free(k->arguments);
  pthread_mutex_lock(&state);
  k->program->kernels--;
  pthread_mutex_unlock(&state);
  free_built(k->built);
  unuse(k->program);
}

static cl_kernel new_kernel(struct Program *p, uint32_t index) {
  struct Kernel *k = make(KERNEL, sizeof *k);
  use(k->program = p);
  k->built = p->built, k->index = index;
  k->arguments = room(entry_of(k)->count * sizeof *k->arguments);
  pthread_mutex_lock(&state);
  k->built->uses++, p->kernels++;
  pthread_mutex_unlock(&state);
  return (cl_kernel)k;
}

static cl_int check_program(struct Program *p) {
  if (!is_object(p, PROGRAM)) return CL_INVALID_PROGRAM;
  if (p->status == CL_BUILD_SUCCESS && p->built) return CL_SUCCESS;
  return refused(CL_INVALID_PROGRAM_EXECUTABLE, "program #%llu %s", (unsigned long long)p->base.number, p->status == CL_BUILD_ERROR ? "could not be built" : "has not been built, or not to its end");
}

ENTRY cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
  struct Program *p = (void *)program;
  cl_int wrong = check_program(p);
  if (!wrong && !name) wrong = refused(CL_INVALID_VALUE, "the name is null");
  uint32_t k = 0;
  while (!wrong && k < p->built->count && strcmp(p->built->entries[k].name, name)) k++;
  if (!wrong && k == p->built->count) wrong = refused(CL_INVALID_KERNEL_NAME, "program #%llu has no kernel '%s'", (unsigned long long)p->base.number, name);
  if (error) *error = wrong;
  return wrong ? 0 : new_kernel(p, k);
}

ENTRY cl_int clCreateKernelsInProgram(cl_program program, cl_uint room_for, cl_kernel *found, cl_uint *count) {
  struct Program *p = (void *)program;
  cl_int wrong = check_program(p);
  if (wrong) return wrong;
  if (found && room_for < p->built->count) return refused(CL_INVALID_VALUE, "room for %u kernels; the program has %u", room_for, p->built->count);
  for (uint32_t k = 0; found && k < p->built->count; k++) found[k] = new_kernel(p, k);
  if (count) *count = p->built->count;
  return CL_SUCCESS;
}

ENTRY cl_kernel clCloneKernel(cl_kernel kernel, cl_int *error) {
  struct Kernel *k = (void *)kernel;
  int is_good = is_object(k, KERNEL);
  if (error) *error = is_good ? CL_SUCCESS : CL_INVALID_KERNEL;
  if (!is_good) return 0;
  struct Kernel *made = make(KERNEL, sizeof *made);
  uint32_t count = entry_of(k)->count;
  use(made->program = k->program);
  made->built = k->built, made->index = k->index;
  made->arguments = room(count * sizeof *made->arguments);
  for (uint32_t j = 0; j < count; j++) {
    made->arguments[j] = k->arguments[j];
    if (k->arguments[j].value) made->arguments[j].value = memcpy(room(k->arguments[j].size), k->arguments[j].value, k->arguments[j].size);
  }
  pthread_mutex_lock(&state);
  made->built->uses++, made->program->kernels++;
  pthread_mutex_unlock(&state);
  return (cl_kernel)made;
}

ENTRY cl_int clRetainKernel(cl_kernel k) { return retain(k, KERNEL, CL_INVALID_KERNEL); }
ENTRY cl_int clReleaseKernel(cl_kernel k) { return release(k, KERNEL, CL_INVALID_KERNEL); }

/* ---- arguments */

static cl_int wrong_size(const struct Kernel *k, const struct Parameter *p, size_t size) {
  const char *what = p->passing == BY_LOCAL ? "a pointer to local memory" : p->passing == BY_VALUE ? p->type : "a handle";
  because("argument %d '%s' of kernel %s is %s of %u bytes; the size given is %zu", (int)(p - entry_of(k)->parameters), p->name, entry_of(k)->name, what, p->passing == BY_VALUE ? p->size : 8, size);
  return CL_INVALID_ARG_SIZE;
}

static cl_int no_value(const struct Kernel *k, const struct Parameter *p) {
  return refused(CL_INVALID_ARG_VALUE, "argument %d '%s' of kernel %s has %s", (int)(p - entry_of(k)->parameters), p->name, entry_of(k)->name, p->passing == BY_LOCAL ? "a size and no value" : "no value");
}

static cl_int set_value(struct Kernel *k, struct Argument *a, const struct Parameter *p, size_t size, const void *value) {
  if (!value) return no_value(k, p);
  /* Compilers of other languages pad structures: SPIR-V says less of sizes than they know. */
  int is_exact = p->has_info && k->program->source;
  if (!size || (is_exact && size != p->size) || size > 65536) return wrong_size(k, p, size);
  size_t bytes = size > p->size ? size : p->size;
  if (!a->value || a->size < bytes) {
    free(a->value);
    a->value = room(bytes);
  }
  memset(a->value, 0, bytes);
  memcpy(a->value, value, size);
  a->size = p->size;
  return CL_SUCCESS;
}

/* By the access that a kernel's source asks for: read, write, both, or it says nothing. */
static const cl_bitfield excluded[] = {CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 0};
static const char *const uses_of[] = {"reads", "writes", "reads and writes", "uses"};

static cl_int wrong_memory(const struct Kernel *k, const struct Parameter *p, const struct Memory *m) {
  char name[160];
  int is_image = p->passing == BY_IMAGE;
  return refused(is_image ? CL_INVALID_ARG_VALUE : CL_INVALID_MEM_OBJECT, "argument %d '%s' of kernel %s takes %s; %s is none", (int)(p - entry_of(k)->parameters), p->name, entry_of(k)->name, is_image ? "an image" : "a buffer", name_of(&m->base, name, sizeof name));
}

static cl_int set_object(const struct Kernel *k, struct Argument *a, const struct Parameter *p, size_t size, const void *value) {
  if (size != sizeof(void *)) return wrong_size(k, p, size);
  void *handle = 0;
  if (value) memcpy(&handle, value, sizeof handle);
  if (p->passing == BY_SAMPLER) {
    if (!is_object(handle, SAMPLER)) return CL_INVALID_SAMPLER;
  } else if (handle) {
    struct Memory *m = handle;
    if (!is_object(m, MEMORY)) return CL_INVALID_MEM_OBJECT;
    if ((m->type == CL_MEM_OBJECT_BUFFER) != (p->passing == BY_BUFFER)) return wrong_memory(k, p, m);
    if (p->passing == BY_IMAGE && m->flags & excluded[p->access]) return refused(CL_INVALID_ARG_VALUE, "argument %d '%s' of kernel %s is an image that it %s; the flags of image #%llu exclude that", (int)(p - entry_of(k)->parameters), p->name, entry_of(k)->name, uses_of[p->access], (unsigned long long)m->base.number);
  } else if (p->passing == BY_IMAGE) return refused(CL_INVALID_MEM_OBJECT, "an image that is null");
  a->object = handle, a->pointer = 0; /* OpenCL does not let a kernel keep its arguments alive */
  if (handle) a->number = a->object->number;
  return CL_SUCCESS;
}

static cl_int find(struct Kernel *k, cl_uint index) {
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  if (index < entry_of(k)->count) return CL_SUCCESS;
  because("kernel %s has %u arguments, counted from 0; %u is none", entry_of(k)->name, entry_of(k)->count, index);
  return CL_INVALID_ARG_INDEX;
}

ENTRY cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  struct Kernel *k = (void *)kernel;
  cl_int wrong = find(k, index);
  if (wrong) return wrong;
  struct Argument *a = &k->arguments[index];
  const struct Parameter *p = &entry_of(k)->parameters[index];
  if (p->passing == BY_LOCAL) {
    if (value) return no_value(k, p);
    if (!size) return wrong_size(k, p, size);
    if (size > facts.slm_bytes) return refused(CL_OUT_OF_RESOURCES, "%zu bytes of local memory; the device has %u", size, facts.slm_bytes);
    a->size = size;
  } else if (p->passing == BY_VALUE) wrong = set_value(k, a, p, size, value);
  else wrong = set_object(k, a, p, size, value);
  if (!wrong) a->is_set = 1;
  return wrong;
}

static cl_int set_pointer(cl_kernel kernel, cl_uint index, const void *pointer) {
  struct Kernel *k = (void *)kernel;
  cl_int wrong = find(k, index);
  if (wrong) return wrong;
  if (entry_of(k)->parameters[index].passing != BY_BUFFER) return refused(CL_INVALID_ARG_VALUE, "argument %u '%s' of kernel %s is no pointer", index, entry_of(k)->parameters[index].name, entry_of(k)->name);
  struct Argument *a = &k->arguments[index];
  a->object = 0, a->pointer = (char *)pointer, a->is_set = 1;
  return CL_SUCCESS;
}

ENTRY cl_int clSetKernelArgSVMPointer(cl_kernel k, cl_uint index, const void *pointer) { return set_pointer(k, index, pointer); }
ENTRY cl_int clSetKernelArgMemPointerINTEL(cl_kernel k, cl_uint index, const void *pointer) { return set_pointer(k, index, pointer); }

ENTRY cl_int clSetKernelExecInfo(cl_kernel k, cl_uint what, size_t size, const void *value) {
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  int is_list = 0;
  cl_bool flag;
  switch (what) { /* every allocation can be reached by every kernel */
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL: is_list = 1; break;
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM: break;
    default: return refused(CL_INVALID_VALUE, "%#x is nothing that a kernel is told", what);
  }
  if (!value || !size || (is_list ? size % sizeof(void *) : size != sizeof flag)) return refused(CL_INVALID_VALUE, "a value of %zu bytes; %s", value ? size : 0, is_list ? "it is a list of pointers" : "it is a cl_bool");
  memcpy(&flag, value, sizeof flag);
  return what == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && flag ? refused(CL_INVALID_OPERATION, "the device does not share all memory of the program") : CL_SUCCESS;
}

/* ---- questions */

static cl_ulong local_bytes(const struct Kernel *k) {
  cl_ulong found = entry_of(k)->slm;
  for (uint32_t j = 0; j < entry_of(k)->count; j++)
    if (entry_of(k)->parameters[j].passing == BY_LOCAL) found += k->arguments[j].size;
  return found;
}

ENTRY cl_int clGetKernelInfo(cl_kernel kernel, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Kernel *k = (void *)kernel;
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  struct Entry *e = entry_of(k);
  switch (what) {
    case CL_KERNEL_FUNCTION_NAME: return answer_text(e->name, size, value, size_ret);
    case CL_KERNEL_NUM_ARGS: return answer(&e->count, sizeof e->count, size, value, size_ret);
    case CL_KERNEL_REFERENCE_COUNT: return answer(&k->base.refs, sizeof k->base.refs, size, value, size_ret);
    case CL_KERNEL_CONTEXT: return answer(&k->program->context, sizeof k->program->context, size, value, size_ret);
    case CL_KERNEL_PROGRAM: return answer(&k->program, sizeof k->program, size, value, size_ret);
    case CL_KERNEL_ATTRIBUTES: return answer_text(e->attributes, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Kernel *k = (void *)kernel;
  cl_int wrong = find(k, index);
  if (wrong) return wrong;
  const struct Parameter *p = &entry_of(k)->parameters[index];
  if (!p->has_info) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
  cl_uint address = CL_KERNEL_ARG_ADDRESS_GLOBAL + p->address, access = CL_KERNEL_ARG_ACCESS_READ_ONLY + p->access;
  cl_bitfield qualifiers = p->qualifiers;
  switch (what) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: return answer(&address, sizeof address, size, value, size_ret);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER: return answer(&access, sizeof access, size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_QUALIFIER: return answer(&qualifiers, sizeof qualifiers, size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_NAME: return answer_text(p->type, size, value, size_ret);
    case CL_KERNEL_ARG_NAME: return answer_text(p->name, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Kernel *k = (void *)kernel;
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  if (device && !is_object(device, DEVICE)) return CL_INVALID_DEVICE;
  struct Entry *e = entry_of(k);
  size_t group[3] = {e->group[0], e->group[1], e->group[2]}, most = facts.max_group, simd = e->simd;
  cl_ulong local = local_bytes(k), spilled = e->spill_bytes;
  if (group[0]) most = group[0] * group[1] * group[2];
  switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE: return answer(&most, sizeof most, size, value, size_ret);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return answer(group, sizeof group, size, value, size_ret);
    case CL_KERNEL_LOCAL_MEM_SIZE: return answer(&local, sizeof local, size, value, size_ret);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: return answer(&simd, sizeof simd, size, value, size_ret);
    case CL_KERNEL_PRIVATE_MEM_SIZE: return answer(&e->private_bytes, sizeof e->private_bytes, size, value, size_ret);
    case CL_KERNEL_SPILL_MEM_SIZE_INTEL: return answer(&spilled, sizeof spilled, size, value, size_ret);
    case CL_KERNEL_GLOBAL_WORK_SIZE: return CL_INVALID_VALUE; /* of built-in kernels */
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint what, size_t input_size, const void *input, size_t size, void *value, size_t *size_ret) {
  struct Kernel *k = (void *)kernel;
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  if (device && !is_object(device, DEVICE)) return CL_INVALID_DEVICE;
  struct Entry *e = entry_of(k);
  size_t simd = e->simd, required = e->required_simd, most = (facts.max_group + simd - 1) / simd, none = 0, items = 1;
  const size_t *sizes = input;
  int takes_sizes = what == CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE || what == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE;
  if (takes_sizes && (!input || !input_size || input_size % sizeof *sizes || input_size > sizeof(size_t[3]))) return CL_INVALID_VALUE;
  for (size_t j = 0; takes_sizes && j < input_size / sizeof *sizes; j++) items *= sizes[j];
  size_t largest = items < simd ? items : simd, groups = (items + simd - 1) / simd;
  switch (what) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE: return answer(&largest, sizeof largest, size, value, size_ret);
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: return answer(&groups, sizeof groups, size, value, size_ret);
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: return answer(&most, sizeof most, size, value, size_ret);
    case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: return answer(&none, sizeof none, size, value, size_ret);
    case CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL: return answer(&required, sizeof required, size, value, size_ret);
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: {
      if (!input || input_size != sizeof(size_t) || !size || size % sizeof(size_t) || size > sizeof(size_t[3])) return CL_INVALID_VALUE;
      size_t wanted[3] = {sizes[0] * simd, 1, 1};
      if (!sizes[0] || wanted[0] > facts.max_group) wanted[0] = wanted[1] = wanted[2] = 0;
      return answer(wanted, size, size, value, size_ret);
    }
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetKernelSubGroupInfoKHR(cl_kernel k, cl_device_id d, cl_uint what, size_t input_size, const void *input, size_t size, void *value, size_t *size_ret) {
  return clGetKernelSubGroupInfo(k, d, what, input_size, input, size, value, size_ret);
}

/* ---- launches */

struct Sizes { uint32_t dims; uint64_t global[3], local[3], offset[3]; };

static cl_int check_arguments(const struct Kernel *k) {
  for (uint32_t j = 0; j < entry_of(k)->count; j++)
    if (!k->arguments[j].is_set) {
      because("argument %u '%s' of kernel %s has not been set", j, entry_of(k)->parameters[j].name, entry_of(k)->name);
      return CL_INVALID_KERNEL_ARGS;
    }
  if (k->built->generation != generation) return refused(CL_INVALID_PROGRAM_EXECUTABLE, "kernel %s was built before the fork of this process", entry_of(k)->name);
  unsigned long long local = local_bytes(k);
  return local <= facts.slm_bytes ? CL_SUCCESS : refused(CL_OUT_OF_RESOURCES, "kernel %s and its arguments have %llu bytes of local memory; the device has %u", entry_of(k)->name, local, facts.slm_bytes);
}

static cl_int other_context(const struct Kernel *k) { return refused(CL_INVALID_CONTEXT, "kernel %s is of another context than the queue", entry_of(k)->name); }

static cl_int wrong_group(const struct Kernel *k, const struct Sizes *s, int d) {
  const struct Entry *e = entry_of(k);
  unsigned long long local = s->local[d], global = s->global[d];
  if (e->group[0] && local != e->group[d]) because("kernel %s requires groups of %u x %u x %u; %llu were asked for in dimension %d", e->name, e->group[0], e->group[1], e->group[2], local, d);
  else if (!local) because("a group of no work item in dimension %d", d);
  else because("%llu work items in dimension %d are no multiple of %llu, and %s was not built with -cl-std=CL2.0 or newer", global, d, local, e->name);
  return CL_INVALID_WORK_GROUP_SIZE;
}

static cl_int check_group(const struct Kernel *k, const struct Sizes *s, int is_given) {
  const uint32_t *wanted = entry_of(k)->group;
  uint64_t items = 1;
  for (int d = 0; d < 3; d++) {
    if (wanted[0] && s->local[d] != wanted[d]) return wrong_group(k, s, d);
    if (!is_given) continue;
    if (!s->local[d] || (s->global[d] % s->local[d] && !k->program->smaller_groups)) return wrong_group(k, s, d);
    if (s->local[d] > facts.max_group) return refused(CL_INVALID_WORK_ITEM_SIZE, "%llu work items in dimension %d of a group; the device has up to %u", (unsigned long long)s->local[d], d, facts.max_group);
    items *= s->local[d];
  }
  if (items <= facts.max_group) return CL_SUCCESS;
  because("a group of %llu work items; the device has up to %u", (unsigned long long)items, facts.max_group);
  return CL_INVALID_WORK_GROUP_SIZE;
}

static uint64_t divisors(const uint64_t *global, uint64_t room, uint64_t *local) {
  uint64_t items = 1;
  for (int d = 0; d < 3; d++) {
    uint64_t n = global[d] < room ? global[d] : room;
    while (global[d] % n) n--;
    local[d] = n, room /= n, items *= n;
  }
  return items;
}

/* The group of a launch without one: the size that the kernel requires, or the greatest divisors with a
 * product of at most 256, x first; where those leave a sub-group empty, of at most 1024. */
static void choose_group(const struct Kernel *k, const uint64_t *global, uint64_t *local) {
  const struct Entry *e = entry_of(k);
  uint64_t items = global[0] * global[1] * global[2], simd = e->simd;
  for (int d = 0; d < 3; d++) local[d] = e->group[d];
  if (e->group[0]) return;
  uint64_t most = facts.max_group, first = most < 256 ? most : 256, second = most < 1024 ? most : 1024;
  if (divisors(global, first, local) < (simd < items ? simd : items)) divisors(global, second, local);
}

/* Sizes as they were given, or as the kernel requires them; `is_empty` says that nothing runs. */
static cl_int read_sizes(const struct Kernel *k, cl_uint dims, const size_t *offset, const size_t *global, const size_t *local, struct Sizes *s, int *is_empty) {
  if (dims < 1 || dims > MOST_DIMS) return refused(CL_INVALID_WORK_DIMENSION, "%u dimensions; there are 1 to 3", dims);
  const uint32_t *group = entry_of(k)->group;
  size_t required[] = {group[0], group[1], group[2]};
  if (!local && group[0]) local = required;
  *is_empty = !global;
  *s = (struct Sizes){dims, {1, 1, 1}, {local ? 1 : 0, local ? 1 : 0, local ? 1 : 0}, {0}};
  for (cl_uint d = 0; global && d < dims; d++) {
    s->global[d] = global[d];
    if (!global[d]) *is_empty = 1;
    if (local) s->local[d] = local[d];
    if (offset) s->offset[d] = offset[d];
    if (global[d] > UINT32_MAX) return refused(CL_INVALID_GLOBAL_WORK_SIZE, "%zu work items in dimension %u", global[d], d);
    if (s->offset[d] > (1ull << 32) - s->global[d]) return refused(CL_INVALID_GLOBAL_OFFSET, "%zu work items from %zu on in dimension %u", global[d], offset[d], d);
  }
  return *is_empty ? CL_SUCCESS : check_group(k, s, local != 0);
}

static cl_int keep_arguments(struct Command *c, const struct Kernel *k) {
  char name[160];
  for (uint32_t j = 0; j < entry_of(k)->count; j++) {
    const struct Argument *a = &k->arguments[j];
    const struct Parameter *p = &entry_of(k)->parameters[j];
    enum Kind kind = p->passing == BY_SAMPLER ? SAMPLER : MEMORY;
    if (!a->object || keep_if_there(c, a->object, kind, a->number)) continue;
    return refused(CL_INVALID_KERNEL_ARGS, "argument %u '%s' of kernel %s is %s, which has been released before the launch", j, p->name, entry_of(k)->name, name_of_lost(a->object, kind, a->number, name, sizeof name));
  }
  return CL_SUCCESS;
}

static void put_argument(struct Message *m, const struct Argument *a, const struct Parameter *p) {
  struct Memory *memory = (void *)a->object;
  struct Sampler *sampler = (void *)a->object;
  switch (p->passing) {
    case BY_VALUE: put32(m, VALUE), put_bytes(m, a->value, a->size); break;
    case BY_LOCAL: put32(m, LOCAL), put64(m, a->size); break;
    case BY_BUFFER:
      put32(m, POINTER);
      put64(m, memory ? (uintptr_t)memory->data : (uintptr_t)a->pointer);
      put64(m, memory ? memory->size : 0);
      break;
    case BY_IMAGE: put32(m, IMAGE_ARGUMENT), put64(m, memory->image); break;
    case BY_SAMPLER:
      put32(m, SAMPLER_ARGUMENT), put32(m, sampler->normalized);
      put32(m, sampler->addressing - CL_ADDRESS_NONE), put32(m, sampler->filter - CL_FILTER_NEAREST);
      break;
  }
}

/* With --check: whether the kernel touches what it must not, see misuse.c. */
static void watch(const struct Command *c, uint64_t *sums, int before) {
  const struct Kernel *k = (void *)c->keeps[0];
  for (uint32_t j = 1; sums && j < c->keep_count; j++) {
    const struct Memory *m = (void *)c->keeps[j];
    if (m->base.kind != MEMORY) continue;
    check_launch(entry_of(k)->name, m->data, m->size, before, &sums[2 * j]);
    check_constant(entry_of(k)->name, m, before, &sums[2 * j + 1]);
  }
}

/* What a kernel prints comes out here, between what the program prints itself. */
static cl_int launch(struct Command *c) {
  struct Message m = {c->copy, c->copy_bytes, c->copy_bytes};
  struct Reply r = {0};
  c->copy = 0;
  uint64_t *sums = facts.checks ? room(2 * c->keep_count * sizeof *sums) : 0;
  watch(c, sums, 1);
  cl_int status = ask(LAUNCH, &m, &r);
  if (!status) watch(c, sums, 0);
  free(sums);
  if (r.size) {
    size_t size;
    char *text = take_bytes(&r, &size);
    if (size) { fwrite(text, 1, size, stdout); fflush(stdout); }
    free(text);
  }
  free(r.data);
  return status;
}

static cl_int nothing(struct Command *c) { (void)c; return CL_SUCCESS; }

static cl_int run(cl_command_queue queue, cl_kernel kernel, cl_uint type, cl_uint dims, const size_t *offset, const size_t *global, const size_t *local, cl_uint count, const cl_event *waits, cl_event *event) {
  struct Queue *q = (void *)queue;
  struct Kernel *k = (void *)kernel;
  struct Sizes s;
  int is_empty = 0;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  if (k->program->context != q->context) return other_context(k);
  cl_int wrong = check_waits(q->context, count, waits);
  if (!wrong) wrong = check_arguments(k);
  if (!wrong) wrong = read_sizes(k, dims, offset, global, local, &s, &is_empty);
  if (wrong) return wrong;
  if (!local && !is_empty) choose_group(k, s.global, s.local);
  struct Command *c = command(q, type, is_empty ? nothing : launch);
  keep(c, k);
  if ((wrong = keep_arguments(c, k))) {
    cancel(c);
    return wrong;
  }
  struct Message m = {0};
  put32(&m, k->built->number), put32(&m, k->index), put32(&m, s.dims);
  put32(&m, local || entry_of(k)->simd > 1); /* a thread without lanes has a size of its own */
  for (int d = 0; d < 3; d++) put64(&m, s.global[d]);
  for (int d = 0; d < 3; d++) put64(&m, s.local[d]);
  for (int d = 0; d < 3; d++) put64(&m, s.offset[d]);
  for (uint32_t j = 0; j < entry_of(k)->count; j++) put_argument(&m, &k->arguments[j], &entry_of(k)->parameters[j]);
  c->copy = m.data, c->copy_bytes = m.size;
  return enqueue(c, count, waits, event, CL_FALSE);
}

ENTRY cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global, const size_t *local, cl_uint count, const cl_event *waits, cl_event *event) {
  return run(q, k, CL_COMMAND_NDRANGE_KERNEL, dims, offset, global, local, count, waits, event);
}

ENTRY cl_int clEnqueueTask(cl_command_queue q, cl_kernel k, cl_uint count, const cl_event *waits, cl_event *event) {
  static const size_t one = 1;
  return run(q, k, CL_COMMAND_TASK, 1, 0, &one, &one, count, waits, event);
}

ENTRY cl_int clEnqueueNativeKernel(cl_command_queue q, void (*call)(void *), void *arguments, size_t size, cl_uint number, const cl_mem *objects, const void **places, cl_uint count, const cl_event *waits, cl_event *event) {
  (void)call, (void)arguments, (void)size, (void)number, (void)objects, (void)places, (void)count, (void)waits, (void)event;
  return is_object(q, QUEUE) ? refused(CL_INVALID_OPERATION, "the device does not run functions of the program") : CL_INVALID_COMMAND_QUEUE;
}

ENTRY cl_int clGetKernelSuggestedLocalWorkSizeKHR(cl_command_queue q, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global, size_t *local) {
  struct Kernel *k = (void *)kernel;
  (void)offset;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!is_object(k, KERNEL)) return CL_INVALID_KERNEL;
  if (k->program->context != ((struct Queue *)q)->context) return other_context(k);
  if (dims < 1 || dims > MOST_DIMS) return refused(CL_INVALID_WORK_DIMENSION, "%u dimensions; there are 1 to 3", dims);
  if (!global) return refused(CL_INVALID_GLOBAL_WORK_SIZE, "there is no size");
  if (!local) return refused(CL_INVALID_VALUE, "there is no place for a size");
  uint64_t whole[3] = {1, 1, 1}, found[3];
  for (cl_uint d = 0; d < dims; d++)
    if (!(whole[d] = global[d])) return refused(CL_INVALID_GLOBAL_WORK_SIZE, "dimension %u has no work items", d);
  choose_group(k, whole, found);
  for (cl_uint d = 0; d < dims; d++) local[d] = found[d];
  return CL_SUCCESS;
}
