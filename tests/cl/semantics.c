/* Cases for what commands and objects mean to each other; test_semantics.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %s: %d\n", __LINE__, #x, e_); exit(1); } } while (0)
#define IS(x, wanted) do { cl_int e_ = (x); if (e_ != (wanted)) { printf("line %d: %s: %d, not %s\n", __LINE__, #x, e_, #wanted); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)

static const char *source = "kernel void add(global int *p, int n) { p[get_global_id(0)] += n; }\n";
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;
static const size_t one = 1;

static void begin(void) {
  cl_int e;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0));
  context = clCreateContext(0, 1, &device, 0, 0, &e);
  CHECK(e);
  program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  CHECK(clBuildProgram(program, 1, &device, "", 0, 0));
}

static cl_command_queue queue_of(cl_queue_properties flags) {
  cl_int e;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, flags, 0};
  cl_command_queue q = clCreateCommandQueueWithProperties(context, device, list, &e);
  CHECK(e);
  return q;
}

static cl_mem ints(int count, const int *data) {
  cl_int e;
  cl_mem m = clCreateBuffer(context, data ? CL_MEM_COPY_HOST_PTR : 0, 4 * count, (void *)data, &e);
  CHECK(e);
  return m;
}

static cl_kernel adding(cl_program p, cl_mem m, int n) {
  cl_int e;
  cl_kernel k = clCreateKernel(p, "add", &e);
  CHECK(e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof n, &n));
  return k;
}

static int first_of(cl_mem m) {
  int found;
  CHECK(clEnqueueReadBuffer(queue_of(0), m, CL_TRUE, 0, 4, &found, 0, 0, 0));
  return found;
}

static cl_int status_of(cl_event e) {
  cl_int status;
  CHECK(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, 0));
  return status;
}

static cl_event gate_(void) {
  cl_int e;
  cl_event gate = clCreateUserEvent(context, &e);
  CHECK(e);
  return gate;
}

/* ---- queues out of order */

/* A marker waits for what came before it, and nothing waits for it. */
static void markers(void) {
  int zero = 0;
  cl_command_queue q = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem a = ints(1, &zero), b = ints(1, &zero);
  cl_event gate = gate_(), first, marker, listed, second;
  CHECK(clEnqueueNDRangeKernel(q, adding(program, a, 5), 1, 0, &one, 0, 1, &gate, &first));
  CHECK(clEnqueueMarkerWithWaitList(q, 0, 0, &marker));
  CHECK(clEnqueueMarkerWithWaitList(q, 1, &first, &listed));
  CHECK(clEnqueueNDRangeKernel(q, adding(program, b, 6), 1, 0, &one, 0, 0, 0, &second));
  CHECK(clWaitForEvents(1, &second));
  TRUE_(first_of(b) == 6 && status_of(marker) > CL_COMPLETE && status_of(listed) > CL_COMPLETE);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clWaitForEvents(1, &marker));
  CHECK(clWaitForEvents(1, &listed));
  TRUE_(status_of(first) == CL_COMPLETE && first_of(a) == 5);
}

/* A barrier with a list waits for that alone; what comes behind it waits for it. */
static void barriers(void) {
  int zero = 0;
  cl_command_queue q = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem a = ints(1, &zero), b = ints(1, &zero);
  cl_event gates[] = {gate_(), gate_()}, first, barrier, second;
  CHECK(clEnqueueNDRangeKernel(q, adding(program, a, 5), 1, 0, &one, 0, 1, &gates[0], &first));
  CHECK(clEnqueueBarrierWithWaitList(q, 1, &gates[1], &barrier));
  CHECK(clEnqueueNDRangeKernel(q, adding(program, b, 6), 1, 0, &one, 0, 0, 0, &second));
  usleep(20000);
  TRUE_(status_of(second) > CL_COMPLETE);
  CHECK(clSetUserEventStatus(gates[1], CL_COMPLETE));
  CHECK(clWaitForEvents(1, &barrier));
  CHECK(clWaitForEvents(1, &second));
  TRUE_(status_of(first) > CL_COMPLETE && first_of(b) == 6);
  CHECK(clSetUserEventStatus(gates[0], CL_COMPLETE));
  CHECK(clFinish(q));
  TRUE_(first_of(a) == 5);
}

/* ---- arguments */

static void CL_CALLBACK count(cl_mem m, void *counted) { (void)m, ++*(int *)counted; }

/* A kernel does not keep its arguments: memory that is released ends, unless a command still needs it.  A
 * launch with such an argument fails, also where another object has its address. */
static void arguments_are_not_kept(void) {
  int zero = 0, ended = 0;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, &zero), other = ints(1, &zero);
  CHECK(clSetMemObjectDestructorCallback(m, count, &ended));
  cl_kernel k = adding(program, m, 5);
  cl_int e;
  cl_kernel clone = clCloneKernel(k, &e);
  cl_event gate = gate_();
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 1, &gate, 0));
  CHECK(clReleaseMemObject(m));
  TRUE_(!ended);
  IS(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0), CL_INVALID_KERNEL_ARGS);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clFinish(q));
  TRUE_(ended == 1);
  for (int j = 0; j < 5000; j++) CHECK(clReleaseMemObject(ints(1, &zero))); /* the handle's memory is given to others */
  cl_mem many[100];
  for (int j = 0; j < 100; j++) many[j] = ints(1, &zero);
  IS(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0), CL_INVALID_KERNEL_ARGS);
  IS(clEnqueueNDRangeKernel(q, clone, 1, 0, &one, 0, 0, 0, 0), CL_INVALID_KERNEL_ARGS);
  CHECK(clSetKernelArg(k, 0, sizeof other, &other));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clSetKernelArg(k, 0, sizeof(cl_mem), 0)); /* null */
  CHECK(clFinish(q));
  TRUE_(first_of(other) == 5);
  for (int j = 0; j < 100; j++) TRUE_(first_of(many[j]) == 0);
}

/* ---- what queries give */

/* What another object needs is alive: a query gives it, and it can be retained, though the program has released it. */
static void owners_that_were_released(void) {
  cl_int e, zero = 0;
  cl_context own = clCreateContext(0, 1, &device, 0, 0, &e), found_context;
  cl_program p = clCreateProgramWithSource(own, 1, &source, 0, &e), found_program;
  CHECK(clBuildProgram(p, 1, &device, "", 0, 0));
  cl_mem m = clCreateBuffer(own, CL_MEM_COPY_HOST_PTR, 4, &zero, &e), part, found_memory;
  part = clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){0, 4}, &e);
  CHECK(e);
  cl_kernel k = adding(p, part, 5);
  cl_command_queue q = clCreateCommandQueueWithProperties(own, device, 0, &e), found_queue;
  cl_event run;
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, &run));
  CHECK(clFinish(q));
  CHECK(clReleaseProgram(p));
  CHECK(clReleaseMemObject(m));
  CHECK(clReleaseCommandQueue(q));
  CHECK(clReleaseContext(own));
  IS(clReleaseContext(own), CL_INVALID_CONTEXT);
  CHECK(clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof p, &found_program, 0));
  CHECK(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof m, &found_memory, 0));
  CHECK(clGetMemObjectInfo(part, CL_MEM_CONTEXT, sizeof own, &found_context, 0));
  CHECK(clGetEventInfo(run, CL_EVENT_COMMAND_QUEUE, sizeof q, &found_queue, 0));
  TRUE_(found_program == p && found_memory == m && found_context == own && found_queue == q);
  CHECK(clRetainContext(own));
  CHECK(clRetainProgram(p));
  CHECK(clRetainMemObject(m));
  CHECK(clRetainCommandQueue(q));
  CHECK(clReleaseKernel(k));
  CHECK(clReleaseMemObject(part));
  CHECK(clReleaseEvent(run));
  int found;
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 4, &found, 0, 0, 0));
  TRUE_(found == 5);
  CHECK(clReleaseKernel(adding(p, m, 1)));
  CHECK(clReleaseProgram(p));
  CHECK(clReleaseMemObject(m));
  CHECK(clReleaseCommandQueue(q));
  CHECK(clReleaseContext(own));
  IS(clRetainContext(own), CL_INVALID_CONTEXT);
  IS(clRetainProgram(p), CL_INVALID_PROGRAM);
  IS(clRetainMemObject(m), CL_INVALID_MEM_OBJECT);
  IS(clRetainCommandQueue(q), CL_INVALID_COMMAND_QUEUE);
}

static void CL_CALLBACK keeps(cl_mem m, void *found) { *(cl_int *)found = clRetainMemObject(m); }

/* What ends cannot be kept from it. */
static void no_life_after_the_end(void) {
  cl_int found = 1;
  cl_mem m = ints(1, 0);
  CHECK(clSetMemObjectDestructorCallback(m, keeps, &found));
  CHECK(clReleaseMemObject(m));
  TRUE_(found == CL_INVALID_MEM_OBJECT);
}

/* ---- forks */

static int exit_of(pid_t child) {
  int status;
  TRUE_(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child has its parent's objects, and nobody who runs commands: they end as errors there. */
static void fork_with_commands(void) {
  int zero = 0;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, &zero);
  cl_event gate = gate_(), run;
  CHECK(clEnqueueNDRangeKernel(q, adding(program, m, 5), 1, 0, &one, 0, 1, &gate, &run));
  pid_t child = fork();
  if (!child) {
    alarm(20);
    if (clFinish(q) || status_of(run) >= 0 || clSetUserEventStatus(gate, CL_COMPLETE)) _exit(1);
    _exit(clWaitForEvents(1, &run) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? 0 : 2);
  }
  TRUE_(exit_of(child) == 0);
  TRUE_(status_of(run) > CL_COMPLETE);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clFinish(q));
  TRUE_(first_of(m) == 5);
}

/* A fork does not wait for a kernel that runs; this one takes minutes. */
static void fork_beside_a_kernel(void) {
  const char *text = "kernel void spin(global uint *p) { uint x = get_global_id(0); for (int k = 0; k < 1000000; k++) x = x * 1664525 + (x >> 7); p[0] = x; }";
  size_t very_many = 1 << 28;
  cl_int e;
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 0, 0, "", 0, 0));
  cl_kernel k = clCreateKernel(p, "spin", &e);
  cl_mem m = ints(1, 0);
  cl_event gate = gate_(), run;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(queue_of(0), k, 1, 0, &very_many, 0, 1, &gate, &run));
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  while (status_of(run) > CL_RUNNING) usleep(1000);
  usleep(20000);
  pid_t child = fork();
  if (!child) _exit(7);
  TRUE_(exit_of(child) == 7 && status_of(run) == CL_RUNNING);
}

/* ---- threads that do the same at once */

static cl_mem shared_memory;
static cl_event shared_event;
static atomic_int arrived, released, was_set;
enum { ROUNDS = 10000 };

static void meet(int round) { /* all three; the others go when the last one comes */
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < 3 * round) sched_yield();
}

static void *does_all(void *unused) {
  for (int round = 1; round <= ROUNDS; round++) {
    meet(3 * round - 2);
    if (!clSetUserEventStatus(shared_event, CL_COMPLETE)) atomic_fetch_add(&was_set, 1);
    meet(3 * round - 1);
    if (!clReleaseMemObject(shared_memory)) atomic_fetch_add(&released, 1);
    meet(3 * round);
  }
  return unused;
}

/* One reference is released once, and one event is set once, whoever comes first. */
static void races(void) {
  pthread_t threads[2];
  for (int k = 0; k < 2; k++) TRUE_(!pthread_create(&threads[k], 0, does_all, 0));
  for (int round = 1; round <= ROUNDS; round++) {
    shared_memory = ints(1, 0), shared_event = gate_();
    for (int k = 2; k >= 0; k--) meet(3 * round - k);
    TRUE_(released == round && was_set == round);
    CHECK(clReleaseEvent(shared_event));
  }
  for (int k = 0; k < 2; k++) pthread_join(threads[k], 0);
}

/* ---- memory */

static int is_device_memory(const char *at) {
  char line[512];
  unsigned long long start, end;
  int found = 0;
  FILE *file = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start <= (uintptr_t)at && (uintptr_t)at < end) found = strstr(line, "eumu-opencl") != 0;
  fclose(file);
  return found;
}

static int seen = -1;
static void CL_CALLBACK looks(cl_mem m, void *at) { (void)m; seen = is_device_memory(at); }

/* Who is told of the end of a buffer may give its memory to others. */
static void memory_is_private_in_a_destructor(void) {
  cl_int e;
  char *pages = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cl_mem m = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4 * 4096, pages, &e);
  CHECK(e);
  TRUE_(is_device_memory(pages + 4096));
  CHECK(clSetMemObjectDestructorCallback(m, looks, pages + 4096));
  CHECK(clReleaseMemObject(m));
  TRUE_(seen == 0);
}

typedef void *(*Allocate)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int (*Free)(cl_context, void *);
typedef cl_int (*Move)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *, cl_event *);

static void *opens(void *gate) {
  usleep(100000);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  return 0;
}

static void blocking_free(void) {
  cl_int e, data = 7;
  cl_ulong odd[] = {0x4999, 1, 0};
  pthread_t thread;
  cl_event gate = gate_(), moved;
  Allocate allocate = clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
  Free release = clGetExtensionFunctionAddressForPlatform(platform, "clMemBlockingFreeINTEL");
  Move move = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemcpyINTEL");
  TRUE_(!allocate(context, device, odd, 64, 0, &e) && e == CL_INVALID_PROPERTY);
  int *at = allocate(context, device, 0, 64, 0, &e);
  CHECK(e);
  CHECK(move(queue_of(0), CL_FALSE, at, &data, sizeof data, 1, &gate, &moved));
  TRUE_(!pthread_create(&thread, 0, opens, gate));
  CHECK(release(context, at));
  TRUE_(status_of(moved) == CL_COMPLETE);
  pthread_join(thread, 0);
}

/* A map that waits in vain is none; its event is the program's all the same. */
static void failed_maps(void) {
  cl_int e;
  cl_uint count;
  cl_event gate = gate_();
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(4, 0);
  CHECK(clSetUserEventStatus(gate, -7));
  TRUE_(!clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, 0, 16, 1, &gate, 0, &e) && e == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(clGetMemObjectInfo(m, CL_MEM_MAP_COUNT, sizeof count, &count, 0));
  TRUE_(count == 0);
  int *at = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, 0, 16, 0, 0, 0, &e);
  CHECK(e);
  CHECK(clEnqueueUnmapMemObject(q, m, at, 0, 0, 0));
  IS(clEnqueueUnmapMemObject(q, m, at, 0, 0, 0), CL_INVALID_VALUE);
}

/* Pitches whose products do not fit into 64 bits are outside, not somewhere. */
static void huge_rectangles(void) {
  int data[64];
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(64, 0);
  size_t zero[3] = {0}, region[] = {4, 1, 2}, far[] = {0, 0, 2}, slices = 1ull << 63;
  IS(clEnqueueReadBufferRect(q, m, CL_TRUE, far, zero, (size_t[]){4, 1, 1}, 4, slices, 4, 4, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, CL_TRUE, zero, far, (size_t[]){4, 1, 1}, 4, 4, 4, slices, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, CL_TRUE, zero, zero, region, 4, ~7ull, 4, 4, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, CL_TRUE, zero, zero, (size_t[]){4, 1ull << 62, 1}, 4, 0, 4, 4, data, 0, 0, 0), CL_INVALID_VALUE);
}

/* Patterns of all sizes, over what is copied at once and less; what is around them stays. */
static void fills(void) {
  enum { SIZE = 50000 };
  static unsigned char found[SIZE], pattern[128];
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(SIZE / 4, 0);
  for (int k = 0; k < 128; k++) pattern[k] = k + 1;
  for (size_t width = 1; width <= 128; width *= 2)
    for (size_t size = width; size < SIZE - 256; size = size * 7 / width * width) {
      CHECK(clEnqueueFillBuffer(q, m, &(char){0}, 1, 0, SIZE, 0, 0, 0));
      CHECK(clEnqueueFillBuffer(q, m, pattern, width, 128, size, 0, 0, 0));
      CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, SIZE, found, 0, 0, 0));
      for (size_t k = 0; k < SIZE; k++) TRUE_(found[k] == (k >= 128 && k < 128 + size ? (k - 128) % width + 1 : 0));
    }
}

/* ---- kernels */

static void execution_info(void) {
  cl_bool yes = CL_TRUE, no = CL_FALSE;
  void *list[2] = {0};
  cl_kernel k = adding(program, ints(1, 0), 1);
  CHECK(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof list, list));
  IS(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, 7, list), CL_INVALID_VALUE);
  IS(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, list), CL_INVALID_VALUE);
  IS(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1, &yes), CL_INVALID_VALUE);
  CHECK(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof no, &no));
  IS(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof yes, &yes), CL_INVALID_OPERATION);
}

/* Without a size of groups, a launch has the one that the kernel requires. */
static void required_groups(void) {
  const char *text = "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void sizes(global int *p) { p[get_global_id(0) + 24 * get_global_id(1)] = get_local_size(0) * 10 + get_local_size(1); }";
  cl_int e, found[48];
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 0, 0, "", 0, 0));
  cl_kernel k = clCreateKernel(p, "sizes", &e);
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(48, 0);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 2, 0, (size_t[]){24, 2}, 0, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof found, found, 0, 0, 0));
  for (int j = 0; j < 48; j++) TRUE_(found[j] == 82);
  IS(clEnqueueNDRangeKernel(q, k, 2, 0, (size_t[]){20, 2}, 0, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
  IS(clEnqueueNDRangeKernel(q, k, 1, 0, (size_t[]){24}, 0, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
}

/* Integers that a channel cannot have become the nearest one, as those do that kernels write. */
static void integer_fills(void) {
  const char *text = "kernel void one(write_only image2d_t a, int4 v) { write_imagei(a, (int2)(1, 0), v); }\n"
                     "kernel void other(write_only image2d_t a, uint4 v) { write_imageui(a, (int2)(1, 0), v); }\n";
  static const cl_uint types[] = {CL_SIGNED_INT8, CL_SIGNED_INT16, CL_SIGNED_INT32, CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32};
  static const cl_int color[] = {-70000, 70000, 300, -7};
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 0, 0, "", 0, 0));
  for (int t = 0; t < 6; t++) {
    cl_image_format format = {CL_RGBA, types[t]};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 2, .image_height = 1};
    cl_mem m = clCreateImage(context, 0, &format, &shape, 0, &e);
    cl_kernel k = clCreateKernel(p, t < 3 ? "one" : "other", &e);
    size_t zero[3] = {0}, whole[3] = {2, 1, 1}, width = 4 << t % 3;
    unsigned char found[32];
    CHECK(clSetKernelArg(k, 0, sizeof m, &m));
    CHECK(clSetKernelArg(k, 1, sizeof color, color));
    CHECK(clEnqueueFillImage(q, m, color, zero, whole, 0, 0, 0));
    CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
    CHECK(clEnqueueReadImage(q, m, CL_TRUE, zero, whole, 0, 0, found, 0, 0, 0));
    TRUE_(!memcmp(found, found + width, width));
    if (t == 0) TRUE_(!memcmp(found, "\x80\x7f\x7f\xf9", 4));
    if (t == 3) TRUE_(!memcmp(found, "\xff\xff\xff\xff", 4));
  }
}

static void image_access(void) {
  const char *text = "kernel void copy(read_only image2d_t a, write_only image2d_t b) { int2 p = (int2)(get_global_id(0), get_global_id(1)); write_imagef(b, p, read_imagef(a, p)); }\n"
                     "kernel void both(read_write image2d_t a) { int2 p = (int2)(get_global_id(0), get_global_id(1)); write_imagef(a, p, 2 * read_imagef(a, p)); }\n";
  static const cl_mem_flags flags[] = {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE};
  cl_int e;
  cl_mem images[3];
  cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
  for (int k = 0; k < 3; k++) images[k] = clCreateImage(context, flags[k], &format, &shape, 0, &e);
  CHECK(e);
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 1, &device, "-cl-std=CL2.0", 0, 0));
  cl_kernel copy = clCreateKernel(p, "copy", &e), both = clCreateKernel(p, "both", &e);
  for (int k = 0; k < 3; k++) {
    IS(clSetKernelArg(copy, 0, sizeof(cl_mem), &images[k]), k == 1 ? CL_INVALID_ARG_VALUE : CL_SUCCESS);
    IS(clSetKernelArg(copy, 1, sizeof(cl_mem), &images[k]), k == 0 ? CL_INVALID_ARG_VALUE : CL_SUCCESS);
    IS(clSetKernelArg(both, 0, sizeof(cl_mem), &images[k]), k < 2 ? CL_INVALID_ARG_VALUE : CL_SUCCESS);
  }
}

/* ---- programs */

static unsigned char *binary_of(cl_program p, size_t *size) {
  CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, 0));
  unsigned char *data = malloc(*size);
  CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof data, &data, 0));
  return data;
}

/* What was compiled, or linked to a library, comes back from its binary and can be linked. */
static cl_program reloaded(cl_program p, cl_uint type) {
  size_t size;
  cl_int e, status;
  cl_uint found;
  const unsigned char *data = binary_of(p, &size);
  cl_program made = clCreateProgramWithBinary(context, 1, &device, &size, &data, &status, &e);
  CHECK(e);
  CHECK(clGetProgramBuildInfo(made, device, CL_PROGRAM_BINARY_TYPE, sizeof found, &found, 0));
  TRUE_(found == type);
  return made;
}

static void binaries_of_parts(void) {
  const char *texts[] = {"int twice(int n) { return 2 * n; }", "int twice(int n);\nkernel void add(global int *p, int n) { p[get_global_id(0)] += twice(n); }"};
  cl_int e, zero = 0;
  cl_program p[2];
  cl_mem m = ints(1, &zero);
  size_t three = 3, group = 2;
  for (int k = 0; k < 2; k++) {
    p[k] = clCreateProgramWithSource(context, 1, &texts[k], 0, &e);
    CHECK(clCompileProgram(p[k], 0, 0, "-cl-std=CL1.2", 0, 0, 0, 0, 0));
    p[k] = reloaded(p[k], CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
  }
  cl_program library = clLinkProgram(context, 0, 0, "-create-library", 1, p, 0, 0, &e);
  CHECK(e);
  p[0] = reloaded(library, CL_PROGRAM_BINARY_TYPE_LIBRARY);
  cl_program linked = clLinkProgram(context, 0, 0, "", 2, p, 0, 0, &e);
  CHECK(e);
  cl_kernel k = adding(linked, m, 21);
  CHECK(clEnqueueNDRangeKernel(queue_of(0), k, 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(m) == 42);
  IS(clEnqueueNDRangeKernel(queue_of(0), k, 1, 0, &three, &group, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE); /* of OpenCL C 1.2 */
  IS(clBuildProgram(p[1], 0, 0, "", 0, 0), CL_INVALID_BINARY);
}

/* A library of several objects, which call each other, and its binary. */
static void libraries_of_parts(void) {
  const char *texts[] = {"int twice(int n) { return 2 * n; }", "int twice(int n); int thrice(int n) { return twice(n) + n; }",
                         "int twice(int n); int thrice(int n);\nkernel void add(global int *p, int n) { p[get_global_id(0)] += twice(n) + thrice(n); }"};
  cl_int e, zero = 0;
  cl_program p[3];
  cl_mem m = ints(1, &zero);
  for (int k = 0; k < 3; k++) {
    p[k] = clCreateProgramWithSource(context, 1, &texts[k], 0, &e);
    CHECK(clCompileProgram(p[k], 0, 0, "", 0, 0, 0, 0, 0));
  }
  cl_program library = clLinkProgram(context, 0, 0, "-create-library", 2, p, 0, 0, &e);
  CHECK(e);
  cl_program both[] = {p[2], reloaded(library, CL_PROGRAM_BINARY_TYPE_LIBRARY)}, twins[] = {p[0], p[0]};
  cl_program linked = clLinkProgram(context, 0, 0, "", 2, both, 0, 0, &e);
  CHECK(e);
  CHECK(clEnqueueNDRangeKernel(queue_of(0), adding(linked, m, 3), 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(m) == 15);
  clLinkProgram(context, 0, 0, "-create-library", 2, twins, 0, 0, &e);
  IS(e, CL_LINK_PROGRAM_FAILURE);
}

/* A program that uses what nothing defines cannot be built: nothing is linked to it later. */
static void undefined_functions(void) {
  const char *text = "int lost(int); kernel void uses(global int *p) { p[0] = lost(p[0]); }";
  char log[4096];
  cl_int e;
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  IS(clBuildProgram(p, 0, 0, "", 0, 0), CL_BUILD_PROGRAM_FAILURE);
  CHECK(clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, 0));
  TRUE_(strstr(log, "'lost'"));
  CHECK(clCompileProgram(p, 0, 0, "", 0, 0, 0, 0, 0));
  clLinkProgram(context, 0, 0, "", 1, &p, 0, 0, &e);
  IS(e, CL_LINK_PROGRAM_FAILURE);
  clLinkProgram(context, 0, 0, "-create-library", 1, &p, 0, 0, &e);
  CHECK(e);
}

static void headers_without_names(void) {
  const char *none = 0;
  cl_int e;
  cl_program p = clCreateProgramWithSource(context, 1, &source, 0, &e), h = clCreateProgramWithSource(context, 1, &source, 0, &e);
  IS(clCompileProgram(p, 0, 0, "", 1, &h, &none, 0, 0), CL_INVALID_VALUE);
}

/* SPIR-V in which the constant 0x12345678 is made the specialization constant 7, and 0x87654321 number 8. */
static uint32_t *with_constants(const uint32_t *words, size_t count, size_t *bytes) {
  uint32_t *made = malloc(4 * count + 64), n = 5, ids[2] = {0};
  for (size_t k = 5; k < count; k += words[k] >> 16)
    for (int j = 0; j < 2; j++)
      if ((words[k] & 0xFFFF) == 43 && words[k] >> 16 == 4 && words[k + 3] == (j ? 0x87654321 : 0x12345678)) ids[j] = words[k + 2];
  TRUE_(ids[0] && ids[1]);
  memcpy(made, words, 20);
  for (size_t k = 5, is_begun = 0; k < count; k += words[k] >> 16) {
    uint32_t op = words[k] & 0xFFFF;
    for (int j = 0; op == 71 && !is_begun && j < 2; j++) { /* the first decoration */
      uint32_t more[] = {4 << 16 | 71, ids[j], 1, 7 + j};
      memcpy(made + n, more, sizeof more), n += 4;
    }
    is_begun |= op == 71;
    memcpy(made + n, words + k, 4 * (words[k] >> 16));
    if (op == 43 && (words[k + 2] == ids[0] || words[k + 2] == ids[1])) made[n] = 4 << 16 | 50;
    n += words[k] >> 16;
  }
  *bytes = 4 * n;
  return made;
}

static int result_of(cl_program p) {
  int zero = 0;
  cl_mem m = ints(1, &zero);
  CHECK(clBuildProgram(p, 0, 0, "", 0, 0));
  cl_kernel k = adding(p, m, 1);
  CHECK(clEnqueueNDRangeKernel(queue_of(0), k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clReleaseKernel(k));
  return first_of(m);
}

static void specialized(void) {
  const char *text = "kernel void add(global int *p, int n) { p[0] = n * 0x12345678 - (int)0x87654321; }";
  cl_int e, value = 1000;
  cl_short narrow = 1;
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clCompileProgram(p, 0, 0, "", 0, 0, 0, 0, 0));
  size_t size, bytes, past = 0;
  unsigned char *data = binary_of(p, &size);
  while (memcmp(data + past, "\3\2#\7", 4)) past++;
  uint32_t *words = malloc(size);
  memcpy(words, data + past, size - past);
  words = with_constants(words, (size - past) / 4, &bytes);
  p = clCreateProgramWithIL(context, words, bytes, &e);
  CHECK(e);
  TRUE_((cl_uint)result_of(p) == 0x12345678u - 0x87654321u);
  IS(clSetProgramSpecializationConstant(p, 9, sizeof value, &value), CL_INVALID_SPEC_ID);
  IS(clSetProgramSpecializationConstant(p, 7, sizeof narrow, &narrow), CL_INVALID_VALUE);
  IS(clSetProgramSpecializationConstant(p, 7, sizeof value, 0), CL_INVALID_VALUE);
  IS(clSetProgramSpecializationConstant(program, 7, sizeof value, &value), CL_INVALID_PROGRAM);
  CHECK(clSetProgramSpecializationConstant(p, 7, sizeof value, &value));
  TRUE_((cl_uint)result_of(p) == 1000 - 0x87654321u);
  value = 1;
  CHECK(clSetProgramSpecializationConstant(p, 8, sizeof value, &value));
  TRUE_(result_of(p) == 999);
  CHECK(clGetProgramInfo(p, CL_PROGRAM_IL, bytes, memset(malloc(bytes), 0, bytes), &size));
  uint32_t *again = malloc(bytes);
  CHECK(clGetProgramInfo(p, CL_PROGRAM_IL, bytes, again, 0));
  TRUE_(size == bytes && !memcmp(again, words, bytes)); /* as it was given */
}

/* Each of its own code, built, run and released; somebody looks at the engine process in between. */
static void many_programs(void) {
  cl_int e, zero = 0;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, &zero);
  size_t bytes;
  const unsigned char *first = binary_of(program, &bytes);
  for (int k = 1; k <= 300; k++) {
    cl_program p = clCreateProgramWithBinary(context, 1, &device, &bytes, &first, 0, &e);
    CHECK(clBuildProgram(p, 0, 0, "", 0, 0));
    cl_kernel add = adding(p, m, 1);
    CHECK(clEnqueueNDRangeKernel(q, add, 1, 0, &one, 0, 0, 0, 0));
    CHECK(clFinish(q));
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseProgram(p));
    if (k % 100 == 0) printf("%d\n", k), fflush(stdout), getchar();
  }
  TRUE_(first_of(m) == 300);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"markers", markers}, {"barriers", barriers}, {"memory_is_private_in_a_destructor", memory_is_private_in_a_destructor},
    {"blocking_free", blocking_free}, {"arguments_are_not_kept", arguments_are_not_kept},
    {"owners_that_were_released", owners_that_were_released}, {"no_life_after_the_end", no_life_after_the_end},
    {"huge_rectangles", huge_rectangles}, {"execution_info", execution_info}, {"image_access", image_access},
    {"binaries_of_parts", binaries_of_parts}, {"libraries_of_parts", libraries_of_parts}, {"headers_without_names", headers_without_names}, {"specialized", specialized},
    {"required_groups", required_groups}, {"integer_fills", integer_fills}, {"undefined_functions", undefined_functions},
    {"many_programs", many_programs}, {"fills", fills}, {"failed_maps", failed_maps}, {"races", races}, {"fork_with_commands", fork_with_commands}, {"fork_beside_a_kernel", fork_beside_a_kernel}};

/* What waits for ever is wrong.  The engine is busy after the last case. */
int main(int argc, char **argv) {
  begin();
  for (int k = 1; k < argc; k++)
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
      if (!strcmp(argv[k], cases[c].name)) alarm(120), cases[c].run(), printf("%s ok\n", argv[k]), fflush(stdout);
  return 0;
}
