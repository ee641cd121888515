/* A layer below the OpenCL loader (OPENCL_LAYERS), in the same library as the render node; and the
 * few functions of Level Zero in front of its loader, for programs that are linked with it.
 *
 * Every call is passed on.  On the way it notes what no driver tells the kernel: how many bytes a
 * program asked for where the driver rounds objects up, and which programs it has built, whose
 * binaries and sources have the names of kernels and lines.  And it keeps the driver from losing work.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "eumu"
#include "../cc/layer.h"
#include "shim.h"

enum {
  CREATE_BUFFER = 14, RELEASE_PROGRAM = 29, BUILD_PROGRAM = 30, GET_PROGRAM_INFO = 32, CREATE_KERNEL = 34, CREATE_KERNELS = 35,
  ENQUEUE_KERNEL = 59, EXTENSION_FUNCTION = 65, EXTENSION_FUNCTION_FOR_PLATFORM = 107, SVM_ALLOC = 126, CREATE_BUFFER_WITH_PROPERTIES = 146
};
enum { SOURCE = 0x1164, DEVICE_COUNT = 0x1162, BINARY_SIZES = 0x1165, BINARIES = 0x1166 };
enum { DEVICES = 16, KNOWN = 1024 };

/* ---- what was asked for */

typedef void *CreateBuffer(void *, uint64_t, size_t, void *, int32_t *);
static void *create_buffer(void *context, uint64_t flags, size_t size, void *host, int32_t *error) {
  begin_noting();
  void *made = ((CreateBuffer *)next[CREATE_BUFFER])(context, flags, size, host, error);
  end_noting(made ? size : 0);
  return made;
}

typedef void *CreateBufferWithProperties(void *, const uint64_t *, uint64_t, size_t, void *, int32_t *);
static void *create_buffer_with_properties(void *context, const uint64_t *properties, uint64_t flags, size_t size, void *host, int32_t *error) {
  begin_noting();
  void *made = ((CreateBufferWithProperties *)next[CREATE_BUFFER_WITH_PROPERTIES])(context, properties, flags, size, host, error);
  end_noting(made ? size : 0);
  return made;
}

typedef void *SvmAlloc(void *, uint64_t, size_t, uint32_t);
static void *svm_alloc(void *context, uint64_t flags, size_t size, uint32_t alignment) {
  begin_noting();
  void *made = ((SvmAlloc *)next[SVM_ALLOC])(context, flags, size, alignment);
  end_noting(made ? size : 0);
  return made;
}

/* Extensions are functions of one platform: another platform's stay as they are. */
typedef void *HostAlloc(void *, const uint64_t *, size_t, uint32_t, int32_t *);
static HostAlloc *next_host;
static void *host_alloc(void *context, const uint64_t *properties, size_t size, uint32_t alignment, int32_t *error) {
  begin_noting();
  void *made = next_host(context, properties, size, alignment, error);
  end_noting(made ? size : 0);
  return made;
}

typedef void *DeviceAlloc(void *, void *, const uint64_t *, size_t, uint32_t, int32_t *);
static DeviceAlloc *next_device, *next_shared;
static void *device_alloc(void *context, void *device, const uint64_t *properties, size_t size, uint32_t alignment, int32_t *error) {
  begin_noting();
  void *made = next_device(context, device, properties, size, alignment, error);
  end_noting(made ? size : 0);
  return made;
}

static void *shared_alloc(void *context, void *device, const uint64_t *properties, size_t size, uint32_t alignment, int32_t *error) {
  begin_noting();
  void *made = next_shared(context, device, properties, size, alignment, error);
  end_noting(made ? size : 0);
  return made;
}

/* ---- what is freed while another thread enqueues
 *
 * A kernel that may reach all memory (SYCL's do) is submitted with all of it.  The driver waits for
 * what has an allocation, and frees it; a kernel that another thread enqueues between the two is
 * submitted with an object that is gone, which the kernel driver refuses: its work is lost, and
 * nobody is told.  A GPU leaves microseconds for that, an emulated one milliseconds. */
static pthread_rwlock_t frees = PTHREAD_RWLOCK_INITIALIZER;

typedef int32_t EnqueueKernel(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *);
static int32_t enqueue_kernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global, const size_t *local, uint32_t count, const void *waits, void *event) {
  pthread_rwlock_rdlock(&frees);
  int32_t error = ((EnqueueKernel *)next[ENQUEUE_KERNEL])(queue, kernel, dimensions, offset, global, local, count, waits, event);
  pthread_rwlock_unlock(&frees);
  return error;
}

typedef int32_t Free(void *, void *);
static Free *next_free, *next_blocking_free;
static int32_t free_alone(Free *call, void *context, void *memory) {
  pthread_rwlock_wrlock(&frees);
  int32_t error = call(context, memory);
  pthread_rwlock_unlock(&frees);
  return error;
}

static int32_t free_memory(void *context, void *memory) { return free_alone(next_free, context, memory); }

static int32_t free_behind_use(void *context, void *memory) { return free_alone(next_blocking_free, context, memory); }

static void *replaced(const char *name, void *found) {
  const struct { const char *name; void **next; void *ours; } extensions[] = {
      {"clHostMemAllocINTEL", (void **)&next_host, (void *)host_alloc},
      {"clDeviceMemAllocINTEL", (void **)&next_device, (void *)device_alloc},
      {"clSharedMemAllocINTEL", (void **)&next_shared, (void *)shared_alloc},
      {"clMemFreeINTEL", (void **)&next_free, (void *)free_memory},
      {"clMemBlockingFreeINTEL", (void **)&next_blocking_free, (void *)free_behind_use}};
  for (size_t k = 0; found && name && k < sizeof extensions / sizeof *extensions; k++)
    if (!strcmp(name, extensions[k].name)) {
      if (!*extensions[k].next) *extensions[k].next = found;
      return *extensions[k].next == found ? extensions[k].ours : found;
    }
  return found;
}

static void *extension_function(const char *name) { return replaced(name, ((void *(*)(const char *))next[EXTENSION_FUNCTION])(name)); }

static void *extension_function_for_platform(void *platform, const char *name) {
  return replaced(name, ((void *(*)(void *, const char *))next[EXTENSION_FUNCTION_FOR_PLATFORM])(platform, name));
}

/* ---- what was built */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *known[KNOWN]; /* programs that the engine process has, by hash; one more may take a place */

static void **place_of(void *program) { return &known[(uintptr_t)program / 16 % KNOWN]; }

static void forget(void *program) {
  pthread_mutex_lock(&lock);
  if (*place_of(program) == program) *place_of(program) = 0;
  pthread_mutex_unlock(&lock);
}

static int is_new(void *program) {
  pthread_mutex_lock(&lock);
  int found = *place_of(program) != program;
  *place_of(program) = program;
  pthread_mutex_unlock(&lock);
  return found;
}

typedef int32_t ProgramInfo(void *, uint32_t, size_t, void *, size_t *);

static char *source_of(void *program, size_t *size) {
  ProgramInfo *info = (ProgramInfo *)next[GET_PROGRAM_INFO];
  *size = 0;
  if (info(program, SOURCE, 0, 0, size) || !*size) return 0;
  char *text = malloc(*size);
  if (text && info(program, SOURCE, *size, text, 0)) *size = 0;
  if (*size) --*size; /* the zero behind it */
  return text;
}

static void pass_on(void *program) {
  ProgramInfo *info = (ProgramInfo *)next[GET_PROGRAM_INFO];
  uint32_t count = 0;
  size_t sizes[DEVICES], source_size;
  unsigned char *binaries[DEVICES] = {0};
  if (!program || !is_new(program)) return;
  if (info(program, DEVICE_COUNT, sizeof count, &count, 0) || !count || count > DEVICES) return;
  if (info(program, BINARY_SIZES, count * sizeof *sizes, sizes, 0)) return;
  int is_fine = 1;
  for (uint32_t k = 0; k < count; k++) is_fine &= (binaries[k] = malloc(sizes[k] + 1)) != 0;
  char *source = source_of(program, &source_size);
  if (is_fine && !info(program, BINARIES, count * sizeof *binaries, binaries, 0))
    for (uint32_t k = 0; k < count; k++)
      if (sizes[k]) send_program(source, source ? source_size : 0, binaries[k], sizes[k]);
  for (uint32_t k = 0; k < count; k++) free(binaries[k]);
  free(source);
}

static int32_t release_program(void *program) {
  forget(program);
  return ((int32_t(*)(void *))next[RELEASE_PROGRAM])(program);
}

typedef int32_t BuildProgram(void *, uint32_t, void *, const char *, void *, void *);
static int32_t build_program(void *program, uint32_t count, void *devices, const char *options, void *notify, void *data) {
  forget(program);
  return ((BuildProgram *)next[BUILD_PROGRAM])(program, count, devices, options, notify, data);
}

static void *create_kernel(void *program, const char *name, int32_t *error) {
  void *made = ((void *(*)(void *, const char *, int32_t *))next[CREATE_KERNEL])(program, name, error);
  if (made) pass_on(program);
  return made;
}

static int32_t create_kernels(void *program, uint32_t count, void *kernels, uint32_t *found) {
  int32_t error = ((int32_t(*)(void *, uint32_t, void *, uint32_t *))next[CREATE_KERNELS])(program, count, kernels, found);
  if (!error) pass_on(program);
  return error;
}

/* ---- what the loader calls */

EXPORT int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *own_count, void *const **own) {
  static const struct Replacement rows[] = {
      {CREATE_BUFFER, (void *)create_buffer}, {CREATE_BUFFER_WITH_PROPERTIES, (void *)create_buffer_with_properties},
      {SVM_ALLOC, (void *)svm_alloc}, {EXTENSION_FUNCTION, (void *)extension_function},
      {EXTENSION_FUNCTION_FOR_PLATFORM, (void *)extension_function_for_platform},
      {RELEASE_PROGRAM, (void *)release_program}, {BUILD_PROGRAM, (void *)build_program},
      {CREATE_KERNEL, (void *)create_kernel}, {CREATE_KERNELS, (void *)create_kernels},
      {ENQUEUE_KERNEL, (void *)enqueue_kernel}};
  return put_between(count, target, own_count, own, rows, sizeof rows / sizeof *rows);
}

/* ---- Level Zero */

#define NEXT(name) \
  static name##_t *real; \
  if (!real) real = (name##_t *)dlsym(RTLD_NEXT, #name); \
  if (!real) return UNINITIALIZED;
enum { UNINITIALIZED = 0x78000001 };

typedef uint32_t zeMemAllocHost_t(void *, const void *, size_t, size_t, void **);
EXPORT uint32_t zeMemAllocHost(void *context, const void *desc, size_t size, size_t alignment, void **made) {
  NEXT(zeMemAllocHost)
  begin_noting();
  uint32_t error = real(context, desc, size, alignment, made);
  end_noting(error ? 0 : size);
  return error;
}

typedef uint32_t zeMemAllocDevice_t(void *, const void *, size_t, size_t, void *, void **);
EXPORT uint32_t zeMemAllocDevice(void *context, const void *desc, size_t size, size_t alignment, void *device, void **made) {
  NEXT(zeMemAllocDevice)
  begin_noting();
  uint32_t error = real(context, desc, size, alignment, device, made);
  end_noting(error ? 0 : size);
  return error;
}

typedef uint32_t zeMemAllocShared_t(void *, const void *, const void *, size_t, size_t, void *, void **);
EXPORT uint32_t zeMemAllocShared(void *context, const void *desc, const void *host, size_t size, size_t alignment, void *device, void **made) {
  NEXT(zeMemAllocShared)
  begin_noting();
  uint32_t error = real(context, desc, host, size, alignment, device, made);
  end_noting(error ? 0 : size);
  return error;
}

typedef uint32_t NativeBinary(void *, size_t *, uint8_t *);
static void pass_on_module(void *module) {
  NativeBinary *binary_of = (NativeBinary *)dlsym(RTLD_NEXT, "zeModuleGetNativeBinary");
  size_t size = 0;
  if (!binary_of || binary_of(module, &size, 0) || !size) return;
  uint8_t *data = malloc(size);
  if (data && !binary_of(module, &size, data)) send_program(0, 0, data, size);
  free(data);
}

typedef uint32_t zeModuleCreate_t(void *, void *, const void *, void **, void **);
EXPORT uint32_t zeModuleCreate(void *context, void *device, const void *desc, void **module, void **log) {
  NEXT(zeModuleCreate)
  uint32_t error = real(context, device, desc, module, log);
  if (!error && module) pass_on_module(*module);
  return error;
}
