/* What a device says of products of octets and of atomic operations of floats; test_extensions.py runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

static int say_atomics(cl_device_id device) {
  cl_bitfield can[3] = {0}; /* CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT, of doubles, of halves */
  for (cl_uint k = 0; k < 3; k++) {
    cl_int e = clGetDeviceInfo(device, 0x4231 + k, sizeof can[k], can + k, 0);
    if (e) return e != CL_INVALID_VALUE || printf("no atomics of floats\n") < 0;
  }
  return printf("floats %x, doubles %x, halves %x\n", (int)can[0], (int)can[1], (int)can[2]) < 0;
}

int main(void) {
  static cl_name_version names[200];
  cl_platform_id platform;
  cl_device_id device;
  cl_bitfield forms = 0, features = 0;
  cl_bool fast[2][6];
  size_t size = 0, all = 0;
  cl_version version = 0;
  if (clGetPlatformIDs(1, &platform, 0) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0)) return 1;
  if (say_atomics(device)) return 7;
  if (clGetDeviceInfo(device, CL_DEVICE_FEATURE_CAPABILITIES_INTEL, sizeof features, &features, 0)) return 2;
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof names, names, &size)) return 3;
  for (size_t k = 0; k < size / sizeof *names; k++)
    if (!strcmp(names[k].name, "cl_khr_integer_dot_product")) version = names[k].version;
  cl_int e = clGetDeviceInfo(device, CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR, sizeof forms, &forms, 0);
  if (!version) return e == CL_INVALID_VALUE ? printf("not listed, instructions %d\n", (int)features) < 0 : 4;
  if (e || clGetDeviceInfo(device, CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, sizeof fast[0], fast[0], &size) || size != sizeof fast[0]) return 5;
  if (clGetDeviceInfo(device, CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR, sizeof fast[1], fast[1], 0)) return 6;
  for (int k = 0; k < 12; k++) all += fast[0][k] == CL_TRUE;
  printf("%d, %s, version %d.%d, instructions %d\n", (int)forms, all == 12 ? "all accelerated" : "not all accelerated", (int)CL_VERSION_MAJOR(version), (int)CL_VERSION_MINOR(version), (int)features);
  return 0;
}
