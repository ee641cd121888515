/* A program for OpenCL, with a case for each kind of work; tests/drivers/test_driver.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %s: %d\n", __LINE__, #x, e_); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)

static const char *source =
    "__kernel void axpy(__global const float *x, __global float *y, float a) { int i = get_global_id(0); y[i] += a * x[i]; }\n"
    "typedef struct Node { int value; __global struct Node *next; } Node;\n"
    "__kernel void sum_list(__global Node *n, __global int *out) { int s = 0; for (; n; n = n->next) s += n->value; *out = s; }\n"
    "__kernel void link(__global Node *n, int count, int spare) { int i = get_global_id(0); int a[40]; for (int k = 0; k < 40; k++) a[k] = i * spare;\n"
    "  n[i].value = i + a[i & 31]; n[i].next = i + 1 < count ? n + i + 1 : 0; }\n"
    "__kernel void far(__global int *p, int step) { p[get_global_id(0) * step] = 1; }\n"
    "__kernel void through(__global ulong *q, int at) { __global int *p = (__global int *)q[0];\n"
    "  p[at] = 7; }\n"
    "__kernel void bytes(__global uchar *p, int at) { p[at] = 7; }\n"
    "__kernel void spill(__global uint *a) { int i = get_global_id(0); uint r[96];\n"
    "  for (int k = 0; k < 96; k++) r[k] = a[i * 96 + k];\n"
    "  for (int t = 0; t < 5; t++) for (int k = 0; k < 96; k++) r[k] = r[k] * r[(k * 5 + 1) % 96] + r[(k * 11 + 3) % 96];\n"
    "  for (int k = 0; k < 96; k++) a[i * 96 + k] = r[k]; }\n"
    "__kernel void reduce(__global const int *x, __global int *out, __local int *part) {\n"
    "  int l = get_local_id(0); part[l] = x[get_global_id(0)];\n"
    "  for (int n = get_local_size(0) / 2; n; n /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (l < n) part[l] += part[l + n]; }\n"
    "  if (!l) atomic_add(out, part[0]); }\n"
    "__kernel void half_written(__global int *out, int n) {\n"
    "  __local int part[64]; int l = get_local_id(0); if (l < n) part[l] = l; barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = part[l ^ 1]; }\n"
    "__kernel void racy(__global int *out) {\n"
    "  __local int part[64]; int l = get_local_id(0); part[l] = l; out[get_global_id(0)] = part[l ^ 1]; }\n"
    "__kernel void copy_image(read_only image2d_t from, write_only image2d_t to, sampler_t s) {\n"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1)); write_imagef(to, at, read_imagef(from, s, at) + 1.0f); }\n"
    "__kernel void volume(read_only image3d_t from, write_only image3d_t to) {\n"
    "  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0); write_imagef(to, at, read_imagef(from, at) * 2.0f); }\n"
    "__kernel void turns(__global int *p, int n) { int s = *p; for (int k = 0; k < n; k++) s = s * 3 + 1; *p = s; }\n"
    "__kernel void beyond(__global int *p, __local int *part) {\n"
    "  int l = get_local_id(0); part[l] = p[l]; barrier(CLK_LOCAL_MEM_FENCE); p[l] = part[l ^ 1] + 1; }\n"
    "__kernel void say(int n) { printf(\"item %d of %d\\n\", (int)get_global_id(0), n); }\n";

static cl_device_id device;
static cl_context context;
static cl_program program;

static cl_command_queue queue_of(cl_queue_properties flags) {
  cl_int e;
  cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
  cl_command_queue q = clCreateCommandQueueWithProperties(context, device, properties, &e);
  CHECK(e);
  return q;
}

static cl_kernel kernel_of(const char *name) {
  cl_int e;
  cl_kernel k = clCreateKernel(program, name, &e);
  CHECK(e);
  return k;
}

static cl_mem buffer(size_t size, void *data) {
  cl_int e;
  cl_mem m = clCreateBuffer(context, data ? CL_MEM_COPY_HOST_PTR : 0, size, data, &e);
  CHECK(e);
  return m;
}

static void axpy(cl_command_queue q, int n, int times, cl_event *event) {
  float *x = malloc(4 * n), *y = calloc(n, 4), a = 0.5f;
  for (int i = 0; i < n; i++) x[i] = i;
  cl_mem mx = buffer(4 * n, x), my = buffer(4 * n, y);
  cl_kernel k = kernel_of("axpy");
  size_t global = n;
  CHECK(clSetKernelArg(k, 0, sizeof mx, &mx));
  CHECK(clSetKernelArg(k, 1, sizeof my, &my));
  CHECK(clSetKernelArg(k, 2, sizeof a, &a));
  for (int t = 0; t < times; t++) CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, t ? 0 : event));
  CHECK(clEnqueueReadBuffer(q, my, CL_TRUE, 0, 4 * n, y, 0, 0, 0));
  for (int i = 0; i < n; i++) TRUE_(y[i] == times * a * i);
  clReleaseKernel(k), clReleaseMemObject(mx), clReleaseMemObject(my), free(x), free(y);
}

static void add(void) { cl_event e; cl_command_queue q = queue_of(0); axpy(q, 1000, 3, &e); axpy(q, 1 << 20, 2, &e); }

static void profiling(void) {
  cl_event e[2];
  cl_ulong t[2][4];
  cl_command_queue q = queue_of(CL_QUEUE_PROFILING_ENABLE);
  for (int k = 0; k < 2; k++) {
    axpy(q, 4096, 1, &e[k]);
    for (int n = 0; n < 4; n++) CHECK(clGetEventProfilingInfo(e[k], CL_PROFILING_COMMAND_QUEUED + n, 8, &t[k][n], 0));
    TRUE_(t[k][0] <= t[k][1] && t[k][1] <= t[k][2] && t[k][2] < t[k][3] && t[k][3] - t[k][2] < 60000000000ull);
  }
  TRUE_(t[1][2] > t[0][3]);
}

typedef struct Node { int value; struct Node *next; } Node;

static void svm(void) {
  cl_command_queue q = queue_of(0);
  Node *n = clSVMAlloc(context, CL_MEM_READ_WRITE, 100 * sizeof *n, 0);
  int *out = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
  TRUE_(n && out);
  CHECK(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, n, 100 * sizeof *n, 0, 0, 0));
  for (int i = 0; i < 100; i++) n[i] = (Node){i, i < 99 ? n + i + 1 : 0};
  CHECK(clEnqueueSVMUnmap(q, n, 0, 0, 0));
  cl_kernel k = kernel_of("sum_list");
  CHECK(clSetKernelArgSVMPointer(k, 0, n));
  CHECK(clSetKernelArgSVMPointer(k, 1, out));
  size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, out, 64, 0, 0, 0));
  TRUE_(*out == 4950);
}

/* Pointers in memory, made by a kernel: addresses of 64 bits or of 32. */
static void pointers(void) {
  int n = 100, spare = 0, sum = 0;
  cl_mem nodes = buffer(16 * n, 0), out = buffer(4, &sum);
  cl_kernel link = kernel_of("link"), k = kernel_of("sum_list");
  cl_command_queue q = queue_of(0);
  size_t global = n, one = 1;
  CHECK(clSetKernelArg(link, 0, sizeof nodes, &nodes));
  CHECK(clSetKernelArg(link, 1, sizeof n, &n));
  CHECK(clSetKernelArg(link, 2, sizeof spare, &spare));
  CHECK(clSetKernelArg(k, 0, sizeof nodes, &nodes));
  CHECK(clSetKernelArg(k, 1, sizeof out, &out));
  CHECK(clEnqueueNDRangeKernel(q, link, 1, 0, &global, 0, 0, 0, 0));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, out, CL_TRUE, 0, 4, &sum, 0, 0, 0));
  TRUE_(sum == 4950);
}

static void local(void) {
  int n = 4096, zero = 0, *x = malloc(4 * n);
  for (int i = 0; i < n; i++) x[i] = i;
  cl_mem mx = buffer(4 * n, x), out = buffer(4, &zero);
  cl_kernel k = kernel_of("reduce");
  cl_command_queue q = queue_of(0);
  size_t global = n, group = 128;
  CHECK(clSetKernelArg(k, 0, sizeof mx, &mx));
  CHECK(clSetKernelArg(k, 1, sizeof out, &out));
  CHECK(clSetKernelArg(k, 2, 4 * group, 0));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &group, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, out, CL_TRUE, 0, 4, &zero, 0, 0, 0));
  TRUE_(zero == n / 2 * (n - 1));
}

static void image(void) {
  static float in[40 * 50 * 4], out[40 * 50 * 4];
  cl_int e;
  for (int k = 0; k < 40 * 50 * 4; k++) in[k] = k;
  cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 50, .image_height = 40};
  cl_mem a = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, in, &e), b = clCreateImage(context, 0, &format, &desc, 0, &e);
  CHECK(e);
  cl_sampler_properties wanted[] = {CL_SAMPLER_NORMALIZED_COORDS, CL_FALSE, CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_CLAMP_TO_EDGE, CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, 0};
  cl_sampler s = clCreateSamplerWithProperties(context, wanted, &e);
  CHECK(e);
  cl_kernel k = kernel_of("copy_image");
  cl_command_queue q = queue_of(0);
  CHECK(clSetKernelArg(k, 0, sizeof a, &a));
  CHECK(clSetKernelArg(k, 1, sizeof b, &b));
  CHECK(clSetKernelArg(k, 2, sizeof s, &s));
  size_t global[] = {50, 40}, zero[3] = {0}, region[] = {50, 40, 1};
  CHECK(clEnqueueNDRangeKernel(q, k, 2, 0, global, 0, 0, 0, 0));
  CHECK(clEnqueueReadImage(q, b, CL_TRUE, zero, region, 0, 0, out, 0, 0, 0));
  for (int n = 0; n < 40 * 50 * 4; n++) TRUE_(out[n] == n + 1);
}

/* Slices of 7 rows, none of them whole tiles; kernels without a sampler. */
static void volume(void) {
  enum { W = 50, H = 7, D = 5 };
  static float in[W * H * D * 4], out[W * H * D * 4];
  cl_int e;
  for (int k = 0; k < W * H * D * 4; k++) in[k] = k;
  cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = W, .image_height = H, .image_depth = D};
  cl_mem a = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, in, &e), b = clCreateImage(context, 0, &format, &desc, 0, &e);
  CHECK(e);
  cl_kernel k = kernel_of("volume");
  cl_command_queue q = queue_of(0);
  CHECK(clSetKernelArg(k, 0, sizeof a, &a));
  CHECK(clSetKernelArg(k, 1, sizeof b, &b));
  size_t region[] = {W, H, D}, zero[3] = {0};
  CHECK(clEnqueueNDRangeKernel(q, k, 3, 0, region, 0, 0, 0, 0));
  CHECK(clEnqueueReadImage(q, b, CL_TRUE, zero, region, 0, 0, out, 0, 0, 0));
  for (int n = 0; n < W * H * D * 4; n++) TRUE_(out[n] == 2 * n);
}

/* More values at once than there are registers: they go to scratch space. */
static void spills(void) {
  enum { N = 64 };
  static unsigned a[96 * N], out[96 * N];
  for (int k = 0; k < 96 * N; k++) a[k] = k * 2654435761u;
  cl_mem m = buffer(sizeof a, a);
  cl_kernel k = kernel_of("spill");
  cl_command_queue q = queue_of(0);
  size_t global = N;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof a, out, 0, 0, 0));
  for (int i = 0; i < N; i++) {
    unsigned *r = a + 96 * i;
    for (int t = 0; t < 5; t++)
      for (int n = 0; n < 96; n++) r[n] = r[n] * r[(n * 5 + 1) % 96] + r[(n * 11 + 3) % 96];
    TRUE_(!memcmp(r, out + 96 * i, 96 * sizeof *r));
  }
}

static void prints(void) {
  int n = 3;
  size_t global = 3;
  cl_kernel k = kernel_of("say");
  cl_command_queue q = queue_of(0);
  CHECK(clSetKernelArg(k, 0, sizeof n, &n));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, 0));
  CHECK(clFinish(q));
}

static void *works(void *unused) {
  cl_event e;
  cl_command_queue q = queue_of(0);
  for (int k = 0; k < 20; k++) axpy(q, 500 + k, 2, &e);
  return unused;
}

static void threads(void) {
  pthread_t t[8];
  for (int k = 0; k < 8; k++) TRUE_(!pthread_create(&t[k], 0, works, 0));
  for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
}

static void undefined(void) {
  int n = 32;
  cl_mem m = buffer(1024, 0);
  cl_kernel k = kernel_of("half_written");
  cl_command_queue q = queue_of(0);
  size_t global = 256, group = 64;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof n, &n));
  for (int t = 0; t < 2; t++) CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, &group, 0, 0, 0));
  CHECK(clFinish(q));
}

static void racy(void) {
  cl_mem m = buffer(1024, 0);
  cl_kernel k = kernel_of("racy");
  cl_command_queue q = queue_of(0);
  size_t global = 128, group = 64, first = 100;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, &first, &global, &group, 0, 0, 0));
  CHECK(clFinish(q));
}

static void fault(void) {
  cl_mem m = buffer(4096, 0);
  cl_kernel k = kernel_of("far");
  cl_command_queue q = queue_of(0);
  int step = 1 << 20;
  size_t global = 64;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof step, &step));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, 0));
  TRUE_(clFinish(q) == CL_OUT_OF_RESOURCES);
}

/* A store behind the last byte that was asked for, within what the driver rounds it to. */
static void past_svm(void) {
  int at = 100, *data = clSVMAlloc(context, CL_MEM_READ_WRITE, 4 * at, 0);
  unsigned long address = (unsigned long)data;
  cl_mem m = buffer(8, &address);
  cl_kernel k = kernel_of("through");
  cl_command_queue q = queue_of(0);
  size_t one = 1;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof at, &at));
  CHECK(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof data, &data));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  printf("past_svm %d\n", clFinish(q));
}

static void past_buffer(void) {
  int at = 1001;
  cl_mem m = buffer(at, 0);
  cl_kernel k = kernel_of("bytes");
  cl_command_queue q = queue_of(0);
  size_t one = 1;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof at, &at));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  printf("past_buffer %d\n", clFinish(q));
}

static void many(void) { cl_event e; cl_command_queue q = queue_of(0); axpy(q, 64, 500, &e); }
/* Launches with a wait each, as many as LAUNCHES says. */
static void steady(void) {
  int n = 64, count = getenv("LAUNCHES") ? atoi(getenv("LAUNCHES")) : 1000;
  float *y = calloc(n, 4), a = 1;
  cl_mem mx = buffer(4 * n, y), my = buffer(4 * n, y);
  cl_kernel k = kernel_of("axpy");
  cl_command_queue q = queue_of(0);
  size_t global = n;
  CHECK(clSetKernelArg(k, 0, sizeof mx, &mx));
  CHECK(clSetKernelArg(k, 1, sizeof my, &my));
  for (int t = 0; t < count; t++) {
    a = t;
    CHECK(clSetKernelArg(k, 2, sizeof a, &a));
    CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, 0));
    CHECK(clFinish(q));
    if (t == 0) puts("begun"), fflush(stdout);
  }
}

/* A child has its own copy of what the GPU uses, and ends; the parent goes on. */
static void forks(void) {
  cl_int e;
  static int data[4096] __attribute__((aligned(4096))); /* else the driver works on a copy */
  cl_mem m = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof data, data, &e);
  cl_kernel k = kernel_of("far");
  cl_command_queue q = queue_of(0);
  int step = 1, status;
  size_t global = 4096;
  CHECK(e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof step, &step));
  for (int t = 0; t < 3; t++) {
    CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &global, 0, 0, 0, 0));
    CHECK(clFinish(q));
    pid_t child = fork();
    if (!child) {
      for (int i = 0; i < 4096; i++) data[i] += 41;
      _exit(data[7] == 42 ? 0 : 1);
    }
    TRUE_(waitpid(child, &status, 0) == child && !status);
    TRUE_(clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, 0, sizeof data, 0, 0, 0, &e) == data && !e);
    for (int i = 0; i < 4096; i++) TRUE_(data[i] == 1);
    CHECK(clEnqueueUnmapMemObject(q, m, data, 0, 0, 0));
  }
}

/* Memory that kernels may reach is freed while another one is enqueued: the driver waits for the
 * first kernel then, and does not know of the second. */
typedef void *HostAlloc(cl_context, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int Free(cl_context, void *);
static void *extension(const char *name) {
  cl_platform_id platform;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
  TRUE_(found);
  return found;
}

static void *released(void *memory) {
  CHECK(((Free *)extension("clMemBlockingFreeINTEL"))(context, memory));
  return 0;
}

static void frees(void) {
  cl_int e, result = 0, turns = 30000000, once = 1;
  cl_bool yes = CL_TRUE;
  cl_mem m = buffer(4, &result);
  cl_kernel k = kernel_of("turns");
  cl_command_queue q = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE); /* kernels are submitted in batches */
  size_t one = 1;
  pthread_t other;
  void *memory = ((HostAlloc *)extension("clHostMemAllocINTEL"))(context, 0, 4096, 0, &e);
  CHECK(e);
  CHECK(clSetKernelExecInfo(k, 0x4200, sizeof yes, &yes)); /* CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL */
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof turns, &turns));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clFlush(q));
  usleep(20000);
  TRUE_(!pthread_create(&other, 0, released, memory));
  usleep(20000);
  CHECK(clSetKernelArg(k, 1, sizeof once, &once));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  pthread_join(other, 0);
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 4, &result, 0, 0, 0));
  cl_int wanted = 0;
  for (int t = 0; t <= turns; t++) wanted = (cl_int)((cl_uint)wanted * 3 + 1);
  TRUE_(result == wanted);
}

/* 256 bytes of a buffer and of local memory that have 24 each. */
static void beyond(void) {
  cl_mem m = buffer(24, 0);
  cl_kernel k = kernel_of("beyond");
  cl_command_queue q = queue_of(0);
  size_t group = 64;
  cl_int out[6];
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof out, 0));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &group, &group, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof out, out, 0, 0, 0));
  for (int t = 0; t < 6; t++) TRUE_(out[t] == 1);
}

/* A work item alone does all of the work, for longer than a launch from Python may by default. */
static void patient(void) {
  cl_int result = 0, turns = 110000000, wanted = 0;
  cl_mem m = buffer(4, &result);
  cl_kernel k = kernel_of("turns");
  cl_command_queue q = queue_of(0);
  size_t one = 1;
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, sizeof turns, &turns));
  CHECK(clEnqueueNDRangeKernel(q, k, 1, 0, &one, 0, 0, 0, 0));
  CHECK(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 4, &result, 0, 0, 0));
  for (int t = 0; t < turns; t++) wanted = (cl_int)((cl_uint)wanted * 3 + 1);
  TRUE_(result == wanted);
}

static void very_many(void) { cl_event e; cl_command_queue q = queue_of(0); axpy(q, 64, 5000, &e); }

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"add", add}, {"profiling", profiling}, {"svm", svm}, {"pointers", pointers}, {"local", local}, {"image", image}, {"volume", volume},
    {"spills", spills}, {"prints", prints}, {"threads", threads}, {"undefined", undefined}, {"racy", racy}, {"fault", fault}, {"past_svm", past_svm}, {"past_buffer", past_buffer}, {"many", many}, {"very_many", very_many}, {"steady", steady}, {"forks", forks}, {"frees", frees}, {"patient", patient}, {"beyond", beyond}};

int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_int e;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0));
  char name[200];
  CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, 0));
  puts(name);
  context = clCreateContext(0, 1, &device, 0, 0, &e);
  CHECK(e);
  program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  CHECK(e);
  CHECK(clBuildProgram(program, 1, &device, getenv("BUILD_OPTIONS") ? getenv("BUILD_OPTIONS") : "-cl-std=CL2.0", 0, 0));
  for (int k = 1; k < argc; k++)
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
      if (!strcmp(argv[k], cases[c].name)) cases[c].run(), printf("%s ok\n", argv[k]), fflush(stdout);
  return 0;
}
