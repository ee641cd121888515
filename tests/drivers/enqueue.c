/* What calls cost: `cc -O1 enqueue.c -lOpenCL -o enqueue && eumu run -- ./enqueue [ITEMS]`.  Wall times: until the
 * device has a name and until the first result; then the least and the median of 3000 calls (300 of many items). */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 3000
#define MANY (1 << 18)
static const char *source = "kernel void axpy(global float *x, global float *y, float a, int n) { int k = get_global_id(0); if (k < n) y[k] += a * x[k]; }";
static double times[CALLS];
static cl_command_queue queue;
static cl_kernel kernel;
static size_t global = 1024;
static const size_t local = 256;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

static void launch(void) {
  clEnqueueNDRangeKernel(queue, kernel, 1, 0, &global, &local, 0, 0, 0);
  clFinish(queue);
}

static void measure(const char *what, int sets, int launches) {
  int calls = global < MANY ? CALLS : CALLS / 10;
  for (int k = 0; k < calls; k++) {
    float a = k;
    double begin = now_us();
    if (sets) clSetKernelArg(kernel, 2, sizeof a, &a);
    if (launches) launch();
    times[k] = now_us() - begin;
  }
  qsort(times, calls, sizeof *times, compare);
  printf("%s: %.2f us at least, %.2f in the median\n", what, times[0], times[calls / 2]);
}

int main(int count, char **words) {
  if (count > 1) global = strtoul(words[1], 0, 0);
  double begin = now_us();
  cl_platform_id platform;
  cl_device_id device;
  cl_int e;
  char name[128];
  if (clGetPlatformIDs(1, &platform, 0) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0)) return 1;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, 0);
  printf("%s after %.3f s\n", name, (now_us() - begin) / 1e6);
  cl_context context = clCreateContext(0, 1, &device, 0, 0, &e);
  queue = clCreateCommandQueueWithProperties(context, device, 0, &e);
  cl_program program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  if (clBuildProgram(program, 1, &device, "", 0, 0)) return 1;
  cl_mem x = clCreateBuffer(context, 0, 4 * global, 0, &e), y = clCreateBuffer(context, 0, 4 * global, 0, &e);
  float a = 2;
  int n = global;
  kernel = clCreateKernel(program, "axpy", &e);
  clSetKernelArg(kernel, 0, sizeof x, &x);
  clSetKernelArg(kernel, 1, sizeof y, &y);
  clSetKernelArg(kernel, 2, sizeof a, &a);
  clSetKernelArg(kernel, 3, sizeof n, &n);
  double before = now_us();
  launch();
  printf("first launch %.3f s, its result after %.3f s\n", (now_us() - before) / 1e6, (now_us() - begin) / 1e6);
  measure("launch, same arguments", 0, 1);
  measure("launch, another number", 1, 1);
  measure("clSetKernelArg", 1, 0);
  return clFinish(queue) != CL_SUCCESS;
}
