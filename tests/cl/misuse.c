/* Mistakes in calls, which `eumu run --check` tells; test_misuse.py has the words. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

static const char *source =
    "kernel void add(global int *p, int n) {\n  p[get_global_id(0)] += n;\n}\n"
    "kernel void race(global int *p) {\n  p[0] = get_global_id(0);\n}\n";

int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int e;
  clGetPlatformIDs(1, &platform, 0);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
  cl_context c = clCreateContext(0, 1, &device, 0, 0, &e);
  cl_command_queue q = clCreateCommandQueueWithProperties(c, device, 0, &e);
  cl_program p = clCreateProgramWithSource(c, 1, &source, 0, &e);
  clBuildProgram(p, 1, &device, "", 0, 0);
  int data[64] = {0}, n = 1;
  size_t global = 64, local = 16, odd = 17;
  cl_mem m = clCreateBuffer(c, 0, 256, 0, &e), left = clCreateBuffer(c, 0, 128, 0, &e);
  cl_kernel k = clCreateKernel(p, argc > 1 ? argv[1] : "add", &e);
  if (argc > 1) { /* no mistake but the kernel's, on two buffers: it is one mistake */
    clSetKernelArg(k, 0, sizeof m, &m);
    clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
    clSetKernelArg(k, 0, sizeof left, &left);
    clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
    return clFinish(q);
  }
  /* arguments and sizes */
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  clSetKernelArg(k, 0, sizeof m, &m);
  clSetKernelArg(k, 1, sizeof m, &m);
  clSetKernelArg(k, 2, sizeof n, &n);
  clSetKernelArg(k, 1, sizeof n, &n);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &odd, 0, 0, 0);
  clEnqueueReadBuffer(q, m, CL_TRUE, 200, 100, data, 0, 0, 0);
  /* memory that is mapped; what comes behind each unmap is right */
  void *at = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, 0, 256, 0, 0, 0, &e);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  clEnqueueUnmapMemObject(q, m, at, 0, 0, 0);
  at = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_WRITE, 64, 64, 0, 0, 0, &e);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  clEnqueueWriteBuffer(q, m, CL_TRUE, 0, 256, data, 0, 0, 0);
  clEnqueueUnmapMemObject(q, m, at, 0, 0, 0);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  /* and what goes by way of a buffer that stays mapped is the program's own memory there */
  size_t none[3] = {0, 0, 0}, box[3] = {8, 8, 1};
  cl_mem between = clCreateBuffer(c, CL_MEM_ALLOC_HOST_PTR, 256, 0, &e);
  at = clEnqueueMapBuffer(q, between, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 256, 0, 0, 0, &e);
  clEnqueueWriteBuffer(q, m, CL_TRUE, 0, 256, at, 0, 0, 0);
  clEnqueueReadBuffer(q, m, CL_TRUE, 0, 256, at, 0, 0, 0);
  clEnqueueWriteBufferRect(q, m, CL_TRUE, none, none, box, 16, 0, 16, 0, at, 0, 0, 0);
  clEnqueueReadBufferRect(q, m, CL_TRUE, none, none, box, 16, 0, 16, 0, at, 0, 0, 0);
  clEnqueueUnmapMemObject(q, between, at, 0, 0, 0);
  clReleaseMemObject(between);
  clFinish(q);
  /* what has been released, what is another kind, and what is left */
  cl_mem dead = clCreateBuffer(c, 0, 64, 0, &e);
  clReleaseMemObject(dead);
  clSetKernelArg(k, 0, sizeof dead, &dead);
  clEnqueueReadBuffer(q, dead, CL_TRUE, 0, 4, data, 0, 0, 0);
  clReleaseMemObject(dead);
  clReleaseKernel((cl_kernel)q);
  /* memory that ends while it is mapped is no memory any more, whatever lies there then */
  cl_mem brief = clCreateBuffer(c, 0, 64, 0, &e);
  clEnqueueMapBuffer(q, brief, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, 0, 0, &e);
  clReleaseMemObject(brief);
  for (int size = 16; size < 400; size += 8)
    for (int j = 0; j < 16; j++) memset(malloc(size), 0x5a, size);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  clFinish(q);
  /* a buffer that is released between the argument and the launch */
  cl_mem early = clCreateBuffer(c, 0, 256, 0, &e);
  clSetKernelArg(k, 0, sizeof early, &early);
  clReleaseMemObject(early);
  clEnqueueNDRangeKernel(q, k, 1, 0, &global, &local, 0, 0, 0);
  clFinish(q);
  clSVMAlloc(c, CL_MEM_READ_WRITE, 100, 0);
  /* commands by address: freed memory, and beyond a buffer that is mapped */
  char *gone = clSVMAlloc(c, CL_MEM_READ_WRITE, 64, 0);
  clSVMFree(c, gone);
  clEnqueueSVMMemFill(q, gone, &n, 4, 64, 0, 0, 0);
  at = clEnqueueMapBuffer(q, left, CL_TRUE, CL_MAP_WRITE, 0, 128, 0, 0, 0, &e);
  clEnqueueReadBuffer(q, m, CL_TRUE, 0, 129, at, 0, 0, 0);
  clEnqueueReadBuffer(q, m, CL_TRUE, 0, 128, at, 0, 0, 0);
  clEnqueueUnmapMemObject(q, left, at, 0, 0, 0);
  clFinish(q);
  clReleaseKernel(k);
  clReleaseKernel(k);
  clReleaseProgram(p);
  clReleaseMemObject(m);
  (void)left;
  return 0;
}
