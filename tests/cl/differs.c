/* Two launches, the second with another number on eumu's own driver; test_compare.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <string.h>

static const char *source = "kernel void add(global int *p, int n) { p[get_global_id(0)] += n; }";

int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int e;
  char name[64];
  if (clGetPlatformIDs(1, &platform, 0) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0)) return 9;
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, 0);
  cl_context c = clCreateContext(0, 1, &device, 0, 0, &e);
  cl_command_queue q = clCreateCommandQueueWithProperties(c, device, 0, &e);
  cl_program p = clCreateProgramWithSource(c, 1, &source, 0, &e);
  if (clBuildProgram(p, 1, &device, "", 0, 0)) return 8;
  cl_kernel k = clCreateKernel(p, "add", &e);
  clCreateBuffer(c, 0, 4, 0, &e);
  cl_mem m = clCreateBuffer(c, 0, 64, 0, &e);
  size_t eight = 8;
  int n[] = {5, argc > 1 && !strcmp(argv[1], "same") ? 7 : !strcmp(name, "eumu")};
  clSetKernelArg(k, 0, sizeof m, &m);
  for (int j = 0; j < 2; j++) {
    clSetKernelArg(k, 1, 4, &n[j]);
    clEnqueueNDRangeKernel(q, k, 1, 0, &eight, 0, 0, 0, 0);
  }
  return clFinish(q);
}
