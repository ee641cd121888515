/* What a device says for which no compiler is installed; test_facts.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(x, wanted) do { long e_ = (x); if (e_ != (wanted)) { printf("line %d: %s: %ld, not %s\n", __LINE__, #x, e_, #wanted); exit(1); } } while (0)

static cl_device_id device;

static long flag(cl_device_info what) {
  cl_bool found = 7;
  IS(clGetDeviceInfo(device, what, sizeof found, &found, 0), CL_SUCCESS);
  return found;
}

static long bytes(cl_device_info what) {
  size_t size;
  IS(clGetDeviceInfo(device, what, 0, 0, &size), CL_SUCCESS);
  return size;
}

static long has(cl_device_info what, const char *word) {
  char text[4096];
  IS(clGetDeviceInfo(device, what, sizeof text, text, 0), CL_SUCCESS);
  return strstr(text, word) != 0;
}

int main(void) {
  const char *text = "kernel void k(global int *p) { *p = 1; }";
  const uint32_t words[] = {0x07230203, 0x10000, 0, 1, 0};
  cl_platform_id platform;
  cl_int e;
  IS(clGetPlatformIDs(1, &platform, 0), CL_SUCCESS);
  IS(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0), CL_SUCCESS);
  IS(flag(CL_DEVICE_COMPILER_AVAILABLE), CL_FALSE);
  IS(flag(CL_DEVICE_LINKER_AVAILABLE), CL_FALSE);
  IS(has(CL_DEVICE_PROFILE, "EMBEDDED_PROFILE"), 1); /* the full profile has a compiler */
  IS(has(CL_DEVICE_EXTENSIONS, "cl_khr_il_program"), 0);
  IS(has(CL_DEVICE_EXTENSIONS, "cles_khr_int64"), 1);
  IS(bytes(CL_DEVICE_IL_VERSION), 1);
  IS(bytes(CL_DEVICE_OPENCL_C_VERSION), 1);
  IS(bytes(CL_DEVICE_ILS_WITH_VERSION), 0);
  IS(bytes(CL_DEVICE_OPENCL_C_ALL_VERSIONS), 0);
  IS(bytes(CL_DEVICE_OPENCL_C_FEATURES), 0);
  cl_context context = clCreateContext(0, 1, &device, 0, 0, &e);
  cl_program p = clCreateProgramWithSource(context, 1, &text, 0, &e);
  IS(e, CL_SUCCESS);
  IS(clBuildProgram(p, 0, 0, "", 0, 0), CL_COMPILER_NOT_AVAILABLE);
  IS(clCompileProgram(p, 0, 0, "", 0, 0, 0, 0, 0), CL_COMPILER_NOT_AVAILABLE);
  clCreateProgramWithIL(context, words, sizeof words, &e);
  IS(e, CL_INVALID_OPERATION);
  puts("ok");
  return 0;
}
