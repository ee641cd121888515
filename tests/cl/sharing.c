/* Memory that a program and the device share; test_sharing.py runs its cases. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %s: %d\n", __LINE__, #x, e_); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)
#define PAGE 4096

static const char *source =
    "kernel void add(global uchar *p, uchar n) { p[get_global_id(0)] += n; }\n"
    "kernel void follow(global ulong *p, uchar n) { ((global uchar *)p[0])[get_global_id(0)] += n; }\n";
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void begin(void) {
  cl_int e;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0));
  context = clCreateContext(0, 1, &device, 0, 0, &e);
  CHECK(e);
  queue = clCreateCommandQueueWithProperties(context, device, 0, &e);
  program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  CHECK(clBuildProgram(program, 1, &device, "", 0, 0));
}

static cl_mem over(void *data, size_t size) {
  cl_int e;
  cl_mem m = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, size, data, &e);
  CHECK(e);
  return m;
}

static void add(cl_mem m, size_t size, unsigned char n) {
  cl_int e;
  cl_kernel k = clCreateKernel(program, "add", &e);
  CHECK(clSetKernelArg(k, 0, sizeof m, &m));
  CHECK(clSetKernelArg(k, 1, 1, &n));
  CHECK(clEnqueueNDRangeKernel(queue, k, 1, 0, &size, 0, 0, 0, 0));
  CHECK(clFinish(queue));
  CHECK(clReleaseKernel(k));
}

static unsigned char *map(cl_mem m, size_t at, size_t size) {
  cl_int e;
  unsigned char *found = clEnqueueMapBuffer(queue, m, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, at, size, 0, 0, 0, &e);
  CHECK(e);
  return found;
}

static void unmap(cl_mem m, void *at) {
  CHECK(clEnqueueUnmapMemObject(queue, m, at, 0, 0, 0));
  CHECK(clFinish(queue));
}

static int all(const unsigned char *at, size_t size, int value) {
  for (size_t k = 0; k < size; k++)
    if (at[k] != value) return 0;
  return 1;
}

/* Whole pages are one memory: neither side needs a map to see the other's bytes. */
static void pages(void) {
  unsigned char *data = aligned_alloc(PAGE, 16 * PAGE);
  memset(data, 1, 16 * PAGE);
  cl_mem m = over(data, 16 * PAGE);
  add(m, 16 * PAGE, 4);
  TRUE_(all(data, 16 * PAGE, 5));
  memset(data, 7, 16 * PAGE);
  add(m, 16 * PAGE, 1);
  TRUE_(all(data, 16 * PAGE, 8));
  unsigned char *at = map(m, 5000, 10000);
  TRUE_(at == data + 5000 && all(at, 10000, 8));
  memset(at, 20, 10000);
  unmap(m, at);
  add(m, 16 * PAGE, 1);
  CHECK(clReleaseMemObject(m));
  TRUE_(all(data, 5000, 9) && all(data + 5000, 10000, 21) && all(data + 15000, 16 * PAGE - 15000, 9));
  data = realloc(data, 64 * PAGE); /* it is memory like any other again */
  TRUE_(data && data[5000] == 21);
  memset(data, 0, 64 * PAGE);
  free(data);
}

/* From and to any byte: a map shows and takes what the buffer has of its first and last page. */
static void odd_places(void) {
  static const size_t sizes[] = {1, 3, 100, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE + 17, 20001};
  for (size_t past = 0; past < 3; past++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      size_t size = sizes[s], start = past == 2 ? PAGE - 5 : past;
      unsigned char *data = mmap(0, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset(data, 9, 10 * PAGE);
      memset(data + start, 1, size);
      cl_mem m = over(data + start, size);
      add(m, size, 2);
      unsigned char *at = map(m, 0, size);
      TRUE_(at == data + start && all(at, size, 3));
      memset(at, 10, size);
      unmap(m, at);
      add(m, size, 5);
      size_t half = size / 2;
      at = map(m, half, size - half); /* a part alone */
      TRUE_(at == data + start + half && all(at, size - half, 15));
      unmap(m, at);
      at = map(m, 0, size);
      TRUE_(all(at, size, 15));
      TRUE_(all(data, start, 9) && all(data + start + size, 10 * PAGE - start - size, 9));
      unmap(m, at);
      CHECK(clReleaseMemObject(m));
      munmap(data, 10 * PAGE);
    }
}

/* Buffers that have bytes of one page in common do not disturb each other. */
static void one_page(void) {
  unsigned char *data = aligned_alloc(PAGE, 8 * PAGE);
  memset(data, 0, 8 * PAGE);
  size_t middle = 3 * PAGE + 1000, rest = 8 * PAGE - middle;
  cl_mem a = over(data, middle), b = over(data + middle, rest), c;
  cl_int e;
  add(a, middle, 1);
  add(b, rest, 2);
  cl_buffer_region region = {2 * PAGE, PAGE};
  c = clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
  CHECK(e);
  add(c, PAGE, 10);
  unsigned char *at[] = {map(a, 0, middle), map(b, 0, rest), map(c, 0, PAGE)};
  TRUE_(at[2] == data + 2 * PAGE && all(at[2], PAGE, 11));
  TRUE_(all(data, 2 * PAGE, 1) && all(data + 3 * PAGE, 1000, 1) && all(data + middle, rest, 2));
  unmap(a, at[0]), unmap(b, at[1]), unmap(c, at[2]);
  CHECK(clReleaseMemObject(a)); /* its pages stay, as those of the sub-buffer */
  add(c, PAGE, 1);
  TRUE_(all(data + 2 * PAGE, PAGE, 12));
  CHECK(clReleaseMemObject(c));
  add(b, rest, 1);
  CHECK(clReleaseMemObject(b));
  TRUE_(all(data + 2 * PAGE, PAGE, 12) && all(data + 4 * PAGE, 4 * PAGE, 3));
  free(data);
}

static const unsigned char constant[3 * PAGE] __attribute__((aligned(PAGE))) = {5, 6, 7};

/* What cannot be shared has memory of its own: a map shows what is there. */
static void other_memory(void) {
  unsigned char local[4 * PAGE];
  memset(local, 3, sizeof local);
  cl_mem m = over(local, sizeof local), copy = over((void *)constant, sizeof constant);
  add(m, sizeof local, 4);
  unsigned char *at = map(m, 0, sizeof local);
  TRUE_(at == local && all(local, sizeof local, 7));
  unmap(m, at);
  unsigned char found[3];
  CHECK(clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, 3, found, 0, 0, 0));
  TRUE_(found[0] == 5 && found[2] == 7);
  CHECK(clReleaseMemObject(m));
  CHECK(clReleaseMemObject(copy));
  unsigned char *both = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  m = over(both, 4 * PAGE);
  pid_t child = fork();
  if (!child) { memset(both, 6, 4 * PAGE); _exit(0); }
  TRUE_(waitpid(child, 0, 0) == child && all(both, 4 * PAGE, 6)); /* it is shared with the child still */
  CHECK(clReleaseMemObject(m));
  munmap(both, 4 * PAGE);
}

/* A child has a copy of its own; what the parent's device writes is the parent's. */
static void forks(void) {
  unsigned char *data = aligned_alloc(PAGE, 4 * PAGE);
  int ready[2], done[2], status;
  char c;
  memset(data, 1, 4 * PAGE);
  cl_mem m = over(data, 4 * PAGE);
  TRUE_(!pipe(ready) && !pipe(done));
  pid_t child = fork();
  if (!child) {
    close(ready[0]), close(done[1]); /* or it would wait for itself */
    memset(data, 50, PAGE);
    if (write(ready[1], "x", 1) != 1 || read(done[0], &c, 1) != 1) _exit(2);
    _exit(!(all(data, PAGE, 50) && all(data + PAGE, 3 * PAGE, 1)));
  }
  TRUE_(read(ready[0], &c, 1) == 1);
  add(m, 4 * PAGE, 1);
  TRUE_(all(data, 4 * PAGE, 2));
  TRUE_(write(done[1], "x", 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(clReleaseMemObject(m));
  free(data);
}

/* Whoever waits for the event of a released buffer's last command may free its memory. */
static void released(void) {
  for (int k = 0; k < 200; k++) {
    unsigned char *data = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cl_int e, one = 1;
    cl_event gate = clCreateUserEvent(context, &e), end;
    cl_mem m = over(data, 4 * PAGE);
    CHECK(clEnqueueFillBuffer(queue, m, &one, 4, 0, 4 * PAGE, 1, &gate, &end));
    CHECK(clReleaseMemObject(m));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &end));
    TRUE_(data[0] == 1);
    munmap(data, 4 * PAGE);
    void *again = mmap(data, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    TRUE_(again == data); /* nothing came there */
    munmap(again, 4 * PAGE);
    clReleaseEvent(gate), clReleaseEvent(end);
  }
}

/* What a program has unmapped, or has other memory for, before it releases the buffer stays as it is. */
static void unmapped(void) {
  size_t size = 8 * PAGE;
  unsigned char *data = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(data, 1, size);
  cl_mem m = over(data, size);
  munmap(data + PAGE, 3 * PAGE);
  void *other = mmap(data + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memset(other, 7, PAGE);
  CHECK(clReleaseMemObject(m));
  pid_t child = fork(); /* a copy would be private: it would not show what the child writes */
  if (!child) memset(other, 9, PAGE), _exit(0);
  waitpid(child, 0, 0);
  TRUE_(all(data, PAGE, 1) && all(other, PAGE, 9) && all(data + 4 * PAGE, 4 * PAGE, 1));
  munmap(data, size);
  m = over(data = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
  munmap(data, size);
  CHECK(clReleaseMemObject(m));
}

static void *make_many(void *user) {
  unsigned char *data = aligned_alloc(PAGE, 8 * PAGE);
  for (int k = 0; k < 200; k++) {
    memset(data, k, 8 * PAGE);
    cl_mem m = over(data + (k & 7), 8 * PAGE - 8);
    unsigned char *at = map(m, 0, 8 * PAGE - 8);
    TRUE_(all(data, 8 * PAGE, k));
    unmap(m, at);
    CHECK(clReleaseMemObject(m));
  }
  free(data);
  return user;
}

static void threads(void) {
  pthread_t t[8];
  for (int k = 0; k < 8; k++) pthread_create(&t[k], 0, make_many, 0);
  for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
}

/* ---- memory by address: a kernel's writes are there when it is over */

static void run_by(cl_kernel k, void *p, size_t size, unsigned char n) {
  CHECK(clSetKernelArgSVMPointer(k, 0, p));
  CHECK(clSetKernelArg(k, 1, 1, &n));
  CHECK(clEnqueueNDRangeKernel(queue, k, 1, 0, &size, 0, 0, 0, 0));
  CHECK(clFinish(queue));
}

static void svm(void) {
  cl_int e;
  cl_kernel k = clCreateKernel(program, "add", &e), f = clCreateKernel(program, "follow", &e);
  for (int fine = 0; fine < 2; fine++) {
    cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    unsigned char *p = clSVMAlloc(context, flags, 10001, 0), **place = clSVMAlloc(context, flags, 8, 0);
    TRUE_(p && place);
    if (!fine) CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, p, 10001, 0, 0, 0));
    memset(p, 1, 10001);
    if (!fine) CHECK(clEnqueueSVMUnmap(queue, p, 0, 0, 0));
    run_by(k, p, 10001, 3);
    if (!fine) CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, p, 10001, 0, 0, 0));
    TRUE_(all(p, 10001, 4));
    if (!fine) CHECK(clEnqueueSVMUnmap(queue, p, 0, 0, 0));
    place[0] = p + 1; /* a pointer in memory */
    CHECK(clSetKernelExecInfo(f, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof p, &p));
    run_by(f, place, 10000, 1);
    TRUE_(p[0] == 4 && all(p + 1, 10000, 5));
    cl_mem m = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 10001, p, &e); /* a buffer over it is it */
    cl_bool is_svm;
    CHECK(e);
    CHECK(clGetMemObjectInfo(m, CL_MEM_USES_SVM_POINTER, sizeof is_svm, &is_svm, 0));
    add(m, 10001, 1);
    TRUE_(is_svm && p[0] == 5 && all(p + 1, 10000, 6));
    CHECK(clReleaseMemObject(m));
    clSVMFree(context, place), clSVMFree(context, p);
  }
}

typedef void *(*Allocate)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef void *(*AllocateHost)(cl_context, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int (*Free)(cl_context, void *);
#define FIND(name) clGetExtensionFunctionAddressForPlatform(platform, name)

static void usm(void) {
  cl_int e;
  cl_kernel k = clCreateKernel(program, "add", &e);
  void *kinds[] = {
      ((AllocateHost)FIND("clHostMemAllocINTEL"))(context, 0, 10001, 0, &e),
      ((Allocate)FIND("clDeviceMemAllocINTEL"))(context, device, 0, 10001, 0, &e),
      ((Allocate)FIND("clSharedMemAllocINTEL"))(context, device, 0, 10001, 64, &e)};
  for (int j = 0; j < 3; j++) {
    unsigned char *p = kinds[j], found[10001], seven = 7;
    TRUE_(p);
    CHECK(clEnqueueSVMMemFill(queue, p, &seven, 1, 10001, 0, 0, 0));
    run_by(k, p + 1, 10000, 3);
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, found, p, 10001, 0, 0, 0));
    TRUE_(found[0] == 7 && all(found + 1, 10000, 10));
    if (j != 1) TRUE_(p[0] == 7 && all(p + 1, 10000, 10)); /* the host's, too */
    CHECK(((Free)FIND("clMemFreeINTEL"))(context, p));
  }
}

#define CASE(name) {#name, name}
static const struct { const char *name; void (*run)(void); } cases[] = {
    CASE(pages), CASE(odd_places), CASE(one_page), CASE(other_memory), CASE(forks),
    CASE(released), CASE(unmapped), CASE(threads), CASE(svm), CASE(usm)};

int main(int argc, char **argv) {
  begin();
  for (int k = 1; k < argc; k++)
    for (size_t j = 0; j < sizeof cases / sizeof *cases; j++)
      if (!strcmp(argv[k], cases[j].name)) {
        cases[j].run();
        printf("%s ok\n", argv[k]);
        fflush(stdout);
      }
  return 0;
}
