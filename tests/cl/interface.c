/* Cases for the parts of OpenCL's interface that need no special kernel; test_programs.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %s: %d\n", __LINE__, #x, e_); exit(1); } } while (0)
#define IS(x, wanted) do { cl_int e_ = (x); if (e_ != (wanted)) { printf("line %d: %s: %d, not %s\n", __LINE__, #x, e_, #wanted); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)

static const char *source =
    "__kernel void add(__global int *p, int n) { p[get_global_id(0)] += n; }\n"
    "__kernel void where(__global int *p) { p[get_global_linear_id()] = get_group_id(0) * 1000 + get_local_id(0) * 10 + get_global_offset(0); }\n"
    "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eights(__global int *p) { p[get_global_id(0)] = get_local_size(0); }\n"
    "__kernel void scan(__global int *p) { int v = get_local_id(0) + 1; p[get_global_id(0)] = 1000 * work_group_reduce_add(v) + work_group_scan_inclusive_add(v); }\n"
    "__kernel void sizes(__global int *p) { for (int d = 0; d < 3; d++) p[d] = get_local_size(d); }\n"
    "__kernel void spin(__global int *p) { uint x = get_global_id(0); for (int k = 0; k < 1000000; k++) x = x * 1664525 + (x >> 7); p[0] = x; }\n";
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static void begin(void) {
  cl_int e;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0));
  context = clCreateContext(0, 1, &device, 0, 0, &e);
  CHECK(e);
  program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  CHECK(clBuildProgram(program, 1, &device, "-cl-std=CL2.0", 0, 0));
}

static cl_command_queue queue_of(cl_queue_properties flags) {
  cl_int e;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, flags, 0};
  cl_command_queue q = clCreateCommandQueueWithProperties(context, device, list, &e);
  CHECK(e);
  return q;
}

static cl_mem ints(int count, cl_mem_flags flags, int *data) {
  cl_int e;
  cl_mem m = clCreateBuffer(context, flags, 4 * count, data, &e);
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

static int first_of(cl_command_queue q, cl_mem m) {
  int found;
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 4, &found, 0, 0, 0));
  return found;
}

static const size_t one = 1, eight = 8, very_many = 1 << 28;

/* ---- queues and events */

static void out_of_order(void) {
  int zero = 0, value = 7;
  cl_int e;
  cl_command_queue q = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  cl_mem a = ints(1, CL_MEM_COPY_HOST_PTR, &zero), b = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_event gate = clCreateUserEvent(context, &e), first, second, after;
  CHECK(e);
  CHECK(clEnqueueNDRangeKernel(q, adding(program, a, 5), 1, 0, &one, 0, 1, &gate, &first));
  CHECK(clEnqueueNDRangeKernel(q, adding(program, b, 6), 1, 0, &one, 0, 0, 0, &second));
  CHECK(clWaitForEvents(1, &second)); /* which does not wait for the first one */
  cl_int status;
  CHECK(clGetEventInfo(first, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &status, 0));
  TRUE_(status == CL_QUEUED);
  CHECK(clEnqueueBarrierWithWaitList(q, 0, 0, 0));
  CHECK(clEnqueueWriteBuffer(q, b, CL_FALSE, 0, 4, &value, 0, 0, &after));
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  IS(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
  CHECK(clFinish(q));
  TRUE_(first_of(q, a) == 5 && first_of(q, b) == 7);
  cl_ulong t[2];
  CHECK(clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_END, 8, &t[0], 0));
  CHECK(clGetEventProfilingInfo(after, CL_PROFILING_COMMAND_START, 8, &t[1], 0));
  TRUE_(t[0] <= t[1]);
}

static void failed_wait(void) {
  int zero = 0;
  cl_int e, status;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_event gate = clCreateUserEvent(context, &e), run;
  CHECK(clEnqueueNDRangeKernel(q, adding(program, m, 5), 1, 0, &one, 0, 1, &gate, &run));
  CHECK(clSetUserEventStatus(gate, -42));
  IS(clWaitForEvents(1, &run), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(clGetEventInfo(run, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &status, 0));
  TRUE_(status < 0);
  CHECK(clFinish(q)); /* which has no such error */
  TRUE_(first_of(q, m) == 0);
}

static atomic_int called[4];
static void CL_CALLBACK notice(cl_event e, cl_int status, void *user) { (void)e; called[(size_t)user] = 100 + status; }

static void callbacks(void) {
  int zero = 0;
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_event gate = clCreateUserEvent(context, &e), run;
  CHECK(clEnqueueNDRangeKernel(q, adding(program, m, 5), 1, 0, &one, 0, 1, &gate, &run));
  CHECK(clSetEventCallback(run, CL_COMPLETE, notice, (void *)0));
  CHECK(clSetEventCallback(run, CL_RUNNING, notice, (void *)1));
  TRUE_(!called[0] && !called[1]);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clFinish(q));
  for (int k = 0; k < 1000 && !called[0]; k++) usleep(1000);
  TRUE_(called[0] == 100 + CL_COMPLETE && called[1] == 100 + CL_RUNNING);
  CHECK(clSetEventCallback(run, CL_COMPLETE, notice, (void *)2)); /* it is over: called at once */
  TRUE_(called[2] == 100);
}

static char order[8];
static void CL_CALLBACK ended(cl_mem m, void *user) { (void)m; strcat(order, user); }

static void destructors(void) {
  cl_mem m = ints(4, 0, 0);
  CHECK(clSetMemObjectDestructorCallback(m, ended, "a"));
  CHECK(clSetMemObjectDestructorCallback(m, ended, "b"));
  cl_kernel k = adding(program, m, 1);
  CHECK(clReleaseMemObject(m));
  CHECK(clReleaseKernel(k));
  TRUE_(!strcmp(order, "ba"));
  IS(clReleaseMemObject(m), CL_INVALID_MEM_OBJECT);
}

/* ---- memory */

static void maps(void) {
  int own[64] = {1, 2, 3};
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(64, CL_MEM_USE_HOST_PTR, own);
  CHECK(clEnqueueNDRangeKernel(q, adding(program, m, 10), 1, 0, &one, 0, 0, 0, 0));
  int *at = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, sizeof own, 0, 0, 0, &e);
  CHECK(e);
  TRUE_(at == own && own[0] == 11 && own[2] == 3);
  at[1] = 50;
  CHECK(clEnqueueUnmapMemObject(q, m, at, 0, 0, 0));
  int second;
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 4, 4, &second, 0, 0, 0));
  TRUE_(second == 50);
  cl_mem plain = ints(64, CL_MEM_ALLOC_HOST_PTR, 0);
  int *twice[2];
  for (int k = 0; k < 2; k++) twice[k] = clEnqueueMapBuffer(q, plain, CL_TRUE, CL_MAP_WRITE, 4 * k, 4, 0, 0, 0, &e);
  cl_uint count;
  CHECK(clGetMemObjectInfo(plain, CL_MEM_MAP_COUNT, 4, &count, 0));
  TRUE_(count == 2 && twice[1] == twice[0] + 1);
  for (int k = 0; k < 2; k++) CHECK(clEnqueueUnmapMemObject(q, plain, twice[k], 0, 0, 0));
  IS(clEnqueueUnmapMemObject(q, plain, twice[0], 0, 0, 0), CL_INVALID_VALUE);
}

static void parts(void) {
  int data[64];
  cl_int e;
  for (int k = 0; k < 64; k++) data[k] = k;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(64, CL_MEM_COPY_HOST_PTR, data), parent;
  cl_buffer_region region = {128, 64};
  cl_mem part = clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
  CHECK(e);
  CHECK(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, 0));
  TRUE_(parent == m);
  CHECK(clEnqueueNDRangeKernel(q, adding(program, part, 100), 1, 0, &one, 0, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof data, data, 0, 0, 0));
  TRUE_(data[31] == 31 && data[32] == 132 && data[33] == 33);
  region.origin = 4;
  TRUE_(!clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &e) && e == CL_MISALIGNED_SUB_BUFFER_OFFSET);
}

static void rectangles(void) {
  int in[8][8], out[4][4], pattern = 9;
  cl_command_queue q = queue_of(0);
  for (int k = 0; k < 64; k++) in[0][k] = k;
  cl_mem a = ints(64, CL_MEM_COPY_HOST_PTR, in[0]), b = ints(64, 0, 0);
  size_t from[] = {8, 1, 0}, to[] = {4, 2, 0}, zero[3] = {0}, region[] = {16, 4, 1};
  CHECK(clEnqueueFillBuffer(q, b, &pattern, 4, 0, 256, 0, 0, 0));
  CHECK(clEnqueueCopyBufferRect(q, a, b, from, to, region, 32, 0, 32, 0, 0, 0, 0));
  CHECK(clEnqueueReadBufferRect(q, b, CL_TRUE, to, zero, region, 32, 0, 16, 0, out, 0, 0, 0));
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++) TRUE_(out[y][x] == in[y + 1][x + 2]);
  TRUE_(first_of(q, b) == 9);
  IS(clEnqueueCopyBuffer(q, a, a, 0, 4, 8, 0, 0, 0), CL_MEM_COPY_OVERLAP);
  IS(clEnqueueCopyBufferRect(q, a, a, from, to, region, 32, 0, 32, 0, 0, 0, 0), CL_MEM_COPY_OVERLAP);
}

typedef void *(*Allocate)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int (*Free)(cl_context, void *);
typedef cl_int (*SetPointer)(cl_kernel, cl_uint, const void *);
typedef cl_int (*Ask)(cl_context, const void *, cl_uint, size_t, void *, size_t *);
typedef cl_int (*Move)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *, cl_event *);

static void usm(void) {
  cl_int e, data[4] = {1, 2, 3, 4};
  cl_command_queue q = queue_of(0);
  Allocate shared = clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
  Allocate on_device = clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
  Free release = clGetExtensionFunctionAddressForPlatform(platform, "clMemFreeINTEL");
  SetPointer set = clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgMemPointerINTEL");
  Ask ask = clGetExtensionFunctionAddressForPlatform(platform, "clGetMemAllocInfoINTEL");
  Move move = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemcpyINTEL");
  int *a = shared(context, device, 0, 64, 0, &e), *b = on_device(context, device, 0, 64, 0, &e), n = 40;
  CHECK(e);
  a[0] = 2;
  cl_kernel k = adding(program, 0, n);
  CHECK(set(k, 0, a));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clFinish(q));
  TRUE_(a[0] == 42);
  CHECK(move(q, CL_TRUE, b, data, sizeof data, 0, 0, 0));
  CHECK(set(k, 0, b + 1)); /* a pointer into the middle */
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(move(q, CL_TRUE, data, b, sizeof data, 0, 0, 0));
  TRUE_(data[0] == 1 && data[1] == 42);
  cl_uint type;
  void *base;
  CHECK(ask(context, b + 3, 0x419A, sizeof type, &type, 0));
  CHECK(ask(context, b + 3, 0x419B, sizeof base, &base, 0));
  TRUE_(type == 0x4198 && base == b);
  CHECK(release(context, a));
  CHECK(release(context, b));
}

/* ---- programs */

static void compiled(void) {
  const char *texts[] = {"#include \"it.h\"\nint twice(int n) { return 2 * n; }", "int twice(int n);\n__kernel void add(__global int *p, int n) { p[0] += twice(n); }", "#define IT 1\n"};
  cl_int e, zero = 0;
  cl_program p[3];
  for (int k = 0; k < 3; k++) p[k] = clCreateProgramWithSource(context, 1, &texts[k], 0, &e);
  const char *name = "it.h";
  CHECK(clCompileProgram(p[0], 0, 0, "", 1, &p[2], &name, 0, 0));
  CHECK(clCompileProgram(p[1], 0, 0, "", 0, 0, 0, 0, 0));
  cl_uint type;
  CHECK(clGetProgramBuildInfo(p[0], device, CL_PROGRAM_BINARY_TYPE, 4, &type, 0));
  TRUE_(type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
  cl_program linked = clLinkProgram(context, 0, 0, "", 2, p, 0, 0, &e);
  CHECK(e);
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  CHECK(clEnqueueNDRangeKernel(q, adding(linked, m, 21), 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(q, m) == 42);
  cl_program library = clLinkProgram(context, 0, 0, "-create-library", 1, p, 0, 0, &e), both[] = {p[1], library};
  CHECK(e);
  CHECK(clGetProgramBuildInfo(library, device, CL_PROGRAM_BINARY_TYPE, 4, &type, 0));
  TRUE_(type == CL_PROGRAM_BINARY_TYPE_LIBRARY);
  linked = clLinkProgram(context, 0, 0, "", 2, both, 0, 0, &e);
  CHECK(e);
  CHECK(clEnqueueNDRangeKernel(q, adding(linked, m, 1), 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(q, m) == 44);
}

/* Their size, also in a program that was linked. */
static void variables(void) {
  const char *text = "global int table[10] = {1, 2}; global ulong late; kernel void k(global int *p) { p[0] = table[1]; late = p[1]; }";
  cl_int e;
  size_t bytes = 1;
  CHECK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof bytes, &bytes, 0));
  TRUE_(bytes == 0);
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 1, &device, "-cl-std=CL2.0", 0, 0));
  CHECK(clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof bytes, &bytes, 0));
  TRUE_(bytes >= 48 && bytes < 128);
  p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clCompileProgram(p, 0, 0, "-cl-std=CL2.0", 0, 0, 0, 0, 0));
  p = clLinkProgram(context, 0, 0, "", 1, &p, 0, 0, &e);
  CHECK(e);
  CHECK(clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof bytes, &bytes, 0));
  TRUE_(bytes >= 48 && bytes < 128);
}

static void binaries(void) {
  size_t size;
  cl_int e, status, zero = 0;
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, 0));
  unsigned char *data = malloc(size), *list[] = {data};
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof list, list, 0));
  cl_program p = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)list, &status, &e);
  CHECK(e);
  CHECK(status);
  CHECK(clBuildProgram(p, 1, &device, "", 0, 0));
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  CHECK(clEnqueueNDRangeKernel(q, adding(p, m, 3), 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(q, m) == 3);
  memset(data, 'x', size);
  TRUE_(!clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)list, &status, &e) && e == CL_INVALID_BINARY);
}

static void mistakes(void) {
  const char *wrong = "__kernel void k(__global int *p) { p[0] = nothing; }";
  cl_int e;
  char log[4096], name[64];
  cl_program p = clCreateProgramWithSource(context, 1, &wrong, 0, &e);
  IS(clBuildProgram(p, 1, &device, "", 0, 0), CL_BUILD_PROGRAM_FAILURE);
  CHECK(clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, 0));
  TRUE_(strstr(log, "nothing"));
  TRUE_(!clCreateKernel(p, "k", &e) && e == CL_INVALID_PROGRAM_EXECUTABLE);
  TRUE_(!clCreateKernel(program, "k", &e) && e == CL_INVALID_KERNEL_NAME);
  cl_command_queue q = queue_of(0);
  cl_kernel k = clCreateKernel(program, "add", &e), r = clCreateKernel(program, "eights", &e);
  cl_mem m = ints(64, 0, 0);
  int n = 1;
  IS(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0), CL_INVALID_KERNEL_ARGS);
  IS(clSetKernelArg(k, 2, 4, &n), CL_INVALID_ARG_INDEX);
  IS(clSetKernelArg(k, 1, 8, &m), CL_INVALID_ARG_SIZE);
  IS(clSetKernelArg(k, 0, 8, &q), CL_INVALID_MEM_OBJECT);
  CHECK(clSetKernelArg(r, 0, 8, &m));
  CHECK(clEnqueueNDRangeKernel(q, r, 1, 0, &eight, 0, 0, 0, 0));
  IS(clEnqueueNDRangeKernel(q, r, 4, 0, &eight, &eight, 0, 0, 0), CL_INVALID_WORK_DIMENSION);
  CHECK(clEnqueueNDRangeKernel(q, r, 1, 0, &eight, &eight, 0, 0, 0));
  IS(clEnqueueReadBuffer(q, m, CL_TRUE, 250, 8, log, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBuffer((cl_command_queue)m, m, CL_TRUE, 0, 8, log, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clReleaseKernel((cl_kernel)m), CL_INVALID_KERNEL);
  TRUE_(!clCreateBuffer(context, 0, 0, 0, &e) && e == CL_INVALID_BUFFER_SIZE);
  TRUE_(!clCreatePipe(context, 0, 4, 4, 0, &e) && e == CL_INVALID_OPERATION);
  CHECK(clGetKernelArgInfo(k, 1, CL_KERNEL_ARG_NAME, sizeof name, name, 0));
  TRUE_(!strcmp(name, "n"));
  CHECK(clGetKernelArgInfo(k, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof name, name, 0));
  TRUE_(!strcmp(name, "int*"));
}

static void collectives(void) {
  int out[40];
  cl_int e;
  cl_bool has;
  CHECK(clGetDeviceInfo(device, CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, sizeof has, &has, 0));
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(40, 0, 0);
  cl_kernel k = clCreateKernel(program, "scan", &e);
  size_t global = 40, group = 20; /* no multiple of a sub-group's size */
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &group, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int j = 0; j < 40; j++) TRUE_(has && out[j] == 210000 + (j % 20 + 1) * (j % 20 + 2) / 2);
}

typedef cl_int (*Suggest)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, size_t *);

/* What is suggested is what a launch without a size of groups takes. */
static void suggested(void) {
  static const size_t ranges[][3] = {{289, 1, 1}, {1024, 1, 1}, {7, 1, 1}, {613, 1, 1}, {1, 3, 113}, {12, 10, 6}};
  int out[3];
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(3, 0, 0);
  cl_kernel k = clCreateKernel(program, "sizes", &e);
  Suggest suggest = clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSizeKHR");
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  for (size_t j = 0; j < sizeof ranges / sizeof *ranges; j++) {
    size_t local[3];
    CHECK(suggest(q, k, 3, 0, ranges[j], local));
    CHECK(clEnqueueNDRangeKernel(q, k, 3, 0, ranges[j], 0, 0, 0, 0));
    CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
    for (int d = 0; d < 3; d++) TRUE_(out[d] == (int)local[d]);
  }
}

static void offsets(void) {
  int out[16];
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(16, 0, 0);
  cl_kernel k = clCreateKernel(program, "where", &e);
  size_t offset = 5, global = 16, group = 4;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, &offset, &global, &group, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int i = 0; i < 16; i++) TRUE_(out[i] == i / 4 * 1000 + i % 4 * 10 + 5);
}

/* Groups of 8, 8 and 3; a program of another version, and a linked one. */
static void smaller_groups(void) {
  int out[19];
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(19, 0, 0);
  size_t global = 19;
  cl_kernel k = clCreateKernel(program, "where", &e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &eight, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int j = 0; j < 19; j++) TRUE_(out[j] == j / 8 * 1000 + j % 8 * 10);
  k = clCreateKernel(program, "eights", &e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &eight, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int j = 0; j < 19; j++) TRUE_(out[j] == (j < 16 ? 8 : 3));
  for (int is_linked = 0; is_linked < 2; is_linked++)
    for (int is_old = 0; is_old < 2; is_old++) {
      const char *options = is_old ? "-cl-std=CL1.2" : "-cl-std=CL2.0";
      const char *text = "kernel void sizes(global int *p) { p[get_global_id(0)] = get_local_size(0); }";
      cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
      if (is_linked) {
        CHECK(clCompileProgram(p, 1, &device, options, 0, 0, 0, 0, 0));
        p = clLinkProgram(context, 1, &device, "", 1, &p, 0, 0, &e);
        CHECK(e);
      } else CHECK(clBuildProgram(p, 1, &device, options, 0, 0));
      k = clCreateKernel(p, "sizes", &e);
      CHECK(clSetKernelArg(k, 0, sizeof m, &m));
      IS(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &eight, 0, 0, 0), is_old ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS);
    }
}

/* Images in a buffer are its bytes: a line of texels, and rows with a distance. */
static void images_in_buffers(void) {
  const char *text =
      "kernel void twice(read_only image1d_buffer_t a, write_only image2d_t b) {\n"
      "  int k = get_global_id(0); write_imageui(b, (int2)(k % 6, k / 6), 2 * read_imageui(a, k)); }\n"
      "kernel void more(read_write image2d_t b) {\n"
      "  int2 p = (int2)(get_global_id(0), get_global_id(1)); write_imageui(b, p, 1 + read_imageui(b, p)); }\n";
  cl_int e;
  int data[12], out[16];
  for (int k = 0; k < 12; k++) data[k] = k;
  cl_command_queue q = queue_of(0);
  cl_mem from = ints(12, CL_MEM_COPY_HOST_PTR, data), to = ints(16, 0, 0);
  cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
  cl_image_desc line = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 12, .mem_object = from};
  cl_image_desc rows = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 6, .image_height = 2, .image_row_pitch = 32, .mem_object = to};
  cl_mem a = clCreateImage(context, 0, &format, &line, 0, &e);
  CHECK(e);
  cl_mem b = clCreateImage(context, 0, &format, &rows, 0, &e);
  CHECK(e);
  cl_image_desc bare = {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 12, .image_height = ~0ul, .image_depth = ~0ul, .image_array_size = 140732387586176ul};
  cl_mem alone = clCreateImage(context, 0, &format, &bare, 0, &e); /* what a line has not may be anything */
  CHECK(e);
  clReleaseMemObject(alone);
  rows.image_height = 3;
  TRUE_(!clCreateImage(context, 0, &format, &rows, 0, &e) && e == CL_INVALID_IMAGE_SIZE);
  rows.image_height = 2, rows.image_row_pitch = 28;
  TRUE_(!clCreateImage(context, 0, &format, &rows, 0, &e) && e == CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  CHECK(clBuildProgram(p, 1, &device, "-cl-std=CL2.0", 0, 0));
  cl_kernel twice = clCreateKernel(p, "twice", &e), more = clCreateKernel(p, "more", &e);
  size_t twelve = 12, shape[2] = {6, 2};
  CHECK(clSetKernelArg(twice, 0, sizeof a, &a));
  CHECK(clSetKernelArg(twice, 1, sizeof b, &b));
  CHECK(clSetKernelArg(more, 0, sizeof b, &b));
  CHECK(clEnqueueNDRangeKernel(q, twice, 1, 0, &twelve, 0, 0, 0, 0));
  CHECK(clEnqueueNDRangeKernel(q, more, 2, 0, shape, 0, 0, 0, 0));
  CHECK(clReleaseMemObject(a));
  CHECK(clEnqueueReadBuffer(q, to, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int k = 0; k < 12; k++) TRUE_(out[k / 6 * 8 + k % 6] == 2 * k + 1);
  TRUE_(first_of(q, from) == 0);
}

/* ---- processes and threads */

static void forks(void) {
  int zero = 0;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_kernel k = adding(program, m, 1);
  pid_t child = fork();
  if (!child) { /* has nothing of its parent's device, and can have one of its own */
    if (clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0) != CL_INVALID_PROGRAM_EXECUTABLE) _exit(1);
    begin();
    q = queue_of(0);
    m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
    CHECK(clEnqueueNDRangeKernel(q, adding(program, m, 2), 1, 0, &one, 0, 0, 0, 0));
    _exit(first_of(q, m) == 2 ? 0 : 2);
  }
  int status;
  waitpid(child, &status, 0);
  TRUE_(!status);
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(q, m) == 1);
}

static int rounds = 100;
static void *works(void *unused) {
  int zero = 0;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_kernel k = adding(program, m, 1);
  for (int t = 0; t < rounds; t++) CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  TRUE_(first_of(q, m) == rounds);
  CHECK(clReleaseKernel(k));
  CHECK(clReleaseMemObject(m));
  CHECK(clReleaseCommandQueue(q));
  return unused;
}

static void threads(void) {
  pthread_t t[8];
  for (int k = 0; k < 8; k++) TRUE_(!pthread_create(&t[k], 0, works, 0));
  for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
}

static void many_threads(void) { rounds = 10000; threads(); }

static cl_mem left;
static void at_the_end(void) { clReleaseMemObject(left); }
static void released_at_exit(void) { left = ints(4, 0, 0); atexit(at_the_end); }

/* A kernel that runs for long: somebody ends the engine process, or this one. */
static void spins(void) {
  int zero = 0;
  cl_int e;
  cl_command_queue q = queue_of(0);
  cl_mem m = ints(1, CL_MEM_COPY_HOST_PTR, &zero);
  cl_kernel k = clCreateKernel(program, "spin", &e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  puts("spins"), fflush(stdout);
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &very_many, 0, 0, 0, 0));
  IS(clFinish(q), CL_OUT_OF_RESOURCES);
  TRUE_(!clCreateBuffer(context, 0, 4, 0, &e) && e == CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"out_of_order", out_of_order}, {"failed_wait", failed_wait}, {"callbacks", callbacks}, {"destructors", destructors},
    {"maps", maps}, {"parts", parts}, {"rectangles", rectangles}, {"usm", usm}, {"compiled", compiled}, {"variables", variables}, {"binaries", binaries},
    {"mistakes", mistakes}, {"offsets", offsets}, {"collectives", collectives}, {"suggested", suggested}, {"smaller_groups", smaller_groups}, {"images_in_buffers", images_in_buffers}, {"forks", forks}, {"threads", threads}, {"many_threads", many_threads},
    {"released_at_exit", released_at_exit}, {"spins", spins}};

int main(int argc, char **argv) {
  begin();
  for (int k = 1; k < argc; k++)
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
      if (!strcmp(argv[k], cases[c].name)) cases[c].run(), printf("%s ok\n", argv[k]), fflush(stdout);
  return 0;
}
