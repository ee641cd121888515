/* What images of every format are to kernels and commands; test_formats.py runs it on two drivers.
 *
 * A line for each format that the device lists, with the flags of its images: what a kernel reads
 * from bytes, beside the image with a border, between texels; what it stores; what a fill leaves. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_) { printf("line %d: %s: %d\n", __LINE__, #x, e_); exit(1); } } while (0)
enum { W = 8, H = 4, READS = (W + 2) * H };

static const char *source =
    "#define READS(name, type, image, read) kernel void name(read_only image i, sampler_t s, global type *o, int between) { "
    "int n = get_global_id(0); float2 at = (float2)(n % 10 - 1, n / 10) + (between ? 0.75f : 0.5f); o[n] = read(i, s, at); }\n"
    "READS(reads, float4, image2d_t, read_imagef) READS(readi, int4, image2d_t, read_imagei) READS(readu, uint4, image2d_t, read_imageui)\n"
    "READS(depths, float, image2d_depth_t, read_imagef)\n"
    "kernel void writes(write_only image2d_t i, global float4 *v) { int n = get_global_id(0); write_imagef(i, (int2)(n % 8, n / 8), v[n]); }\n"
    "kernel void writei(write_only image2d_t i, global int4 *v) { int n = get_global_id(0); write_imagei(i, (int2)(n % 8, n / 8), v[n]); }\n"
    "kernel void writeu(write_only image2d_t i, global uint4 *v) { int n = get_global_id(0); write_imageui(i, (int2)(n % 8, n / 8), v[n]); }\n"
    "kernel void deepen(write_only image2d_depth_t i, global float4 *v) { int n = get_global_id(0); write_imagef(i, (int2)(n % 8, n / 8), v[n].x); }\n";
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void show(const char *what, const void *data, size_t size) {
  printf(" %s", what);
  for (size_t k = 0; k < size; k += 4) {
    cl_uint word;
    memcpy(&word, (const char *)data + k, 4);
    printf(" %08x", word);
  }
}

static size_t sort_of(cl_image_format f) {
  if (f.image_channel_order == CL_DEPTH) return 3;
  if (f.image_channel_data_type >= CL_SIGNED_INT8 && f.image_channel_data_type <= CL_SIGNED_INT32) return 1;
  return f.image_channel_data_type >= CL_UNSIGNED_INT8 && f.image_channel_data_type <= CL_UNSIGNED_INT32 ? 2 : 0;
}

static void launch(const char *name, cl_mem image, cl_sampler sampler, cl_mem values, int between, size_t count) {
  cl_int e;
  cl_kernel kernel = clCreateKernel(program, name, &e);
  CHECK(e);
  cl_uint at = 0;
  CHECK(clSetKernelArg(kernel, at++, sizeof image, &image));
  if (sampler) CHECK(clSetKernelArg(kernel, at++, sizeof sampler, &sampler));
  CHECK(clSetKernelArg(kernel, at++, sizeof values, &values));
  if (sampler) CHECK(clSetKernelArg(kernel, at++, sizeof between, &between));
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &count, 0, 0, 0, 0));
  CHECK(clReleaseKernel(kernel));
}

static cl_mem image_of(cl_image_format f, cl_mem_flags flags, unsigned char *bytes) {
  cl_int e;
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
  cl_mem image = clCreateImage(context, flags | (bytes ? CL_MEM_COPY_HOST_PTR : 0), &f, &shape, bytes, &e);
  CHECK(e);
  return image;
}

static cl_sampler sampler_of(cl_addressing_mode address, cl_filter_mode filter) {
  cl_int e;
  cl_sampler_properties list[] = {CL_SAMPLER_NORMALIZED_COORDS, 0, CL_SAMPLER_ADDRESSING_MODE, address, CL_SAMPLER_FILTER_MODE, filter, 0};
  cl_sampler sampler = clCreateSamplerWithProperties(context, list, &e);
  CHECK(e);
  return sampler;
}

/* Bytes of which the numbers of no type are out of the ordinary. */
static void plain(cl_image_format f, unsigned char *bytes, size_t size) {
  for (size_t k = 0; k < size; k++) bytes[k] = k * 37 + 11;
  for (size_t k = 0; f.image_channel_data_type == CL_FLOAT && k < size / 4; k++) ((float *)bytes)[k] = k * 0.375f - 3;
  for (size_t k = 0; f.image_channel_data_type == CL_HALF_FLOAT && k < size / 2; k++) ((unsigned short *)bytes)[k] = 0x3000 + k * 53;
}

static void read_back(cl_image_format f) {
  static const char *names[] = {"reads", "readi", "readu", "depths"};
  unsigned char bytes[W * H * 16];
  char found[READS * 16];
  cl_int e;
  size_t sort = sort_of(f), size = sort == 3 ? 4 : 16;
  plain(f, bytes, sizeof bytes);
  cl_mem image = image_of(f, CL_MEM_READ_ONLY, bytes), out = clCreateBuffer(context, 0, sizeof found, 0, &e);
  cl_sampler border = sampler_of(CL_ADDRESS_CLAMP, CL_FILTER_NEAREST), edge = sampler_of(CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR);
  launch(names[sort], image, border, out, 0, READS);
  CHECK(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, READS * size, found, 0, 0, 0));
  show("read", found, READS * size);
  if (sort == 0) {
    launch(names[sort], image, edge, out, 1, READS);
    CHECK(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, READS * size, found, 0, 0, 0));
    show("between", found, READS * size);
  }
  CHECK(clReleaseMemObject(image));
  CHECK(clReleaseMemObject(out));
}

static void write_there(cl_image_format f) {
  static const char *names[] = {"writes", "writei", "writeu", "deepen"};
  unsigned char values[W * H * 16], bytes[W * H * 16] = {0};
  size_t sort = sort_of(f), zero[3] = {0}, whole[3] = {W, H, 1}, texel;
  cl_int e;
  for (int k = 0; k < W * H * 4; k++) ((float *)values)[k] = k * 0.0173f - 0.4f;
  for (int k = 0; (sort == 1 || sort == 2) && k < W * H * 4; k++) ((int *)values)[k] = (k - 40) * (k % 3 ? 3 : 1201);
  cl_mem image = image_of(f, CL_MEM_WRITE_ONLY, 0), in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &e);
  CHECK(e);
  CHECK(clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof texel, &texel, 0));
  launch(names[sort], image, 0, in, 0, W * H);
  CHECK(clEnqueueReadImage(queue, image, CL_TRUE, zero, whole, 0, 0, bytes, 0, 0, 0));
  show("write", bytes, W * H * texel);
  CHECK(clReleaseMemObject(image));
  CHECK(clReleaseMemObject(in));
}

/* Colors that every type has: Intel's driver cuts others off, and wraps integers around. */
static void fill(cl_image_format f) {
  static const float colors[2][4] = {{1, 0, 0, 0}, {0, 1, 0, 1}};
  static const cl_int integers[2][4] = {{77, 3, 120, 5}, {1, 2, 3, 4}};
  unsigned char bytes[W * H * 16] = {0};
  size_t sort = sort_of(f), zero[3] = {0}, whole[3] = {W, H, 1};
  for (int k = 0; k < 2; k++) {
    cl_mem image = image_of(f, CL_MEM_READ_ONLY, 0);
    CHECK(clEnqueueFillImage(queue, image, sort == 1 || sort == 2 ? (void *)integers[k] : (void *)colors[k], zero, whole, 0, 0, 0));
    CHECK(clEnqueueReadImage(queue, image, CL_TRUE, zero, whole, 0, 0, bytes, 0, 0, 0));
    show(k ? "again" : "fill", bytes, 16);
    CHECK(clReleaseMemObject(image));
  }
}

int main(void) {
  static const cl_mem_object_type shapes[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
  static const cl_mem_flags flags[] = {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE, CL_MEM_KERNEL_READ_AND_WRITE};
  static cl_image_format formats[512];
  cl_platform_id platform;
  cl_uint count;
  cl_int e;
  CHECK(clGetPlatformIDs(1, &platform, 0));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0));
  context = clCreateContext(0, 1, &device, 0, 0, &e);
  queue = clCreateCommandQueueWithProperties(context, device, 0, &e);
  CHECK(e);
  program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  CHECK(clBuildProgram(program, 0, 0, "-cl-std=CL2.0", 0, 0));
  for (int s = 0; s < 6; s++)
    for (int f = 0; f < 4; f++) {
      CHECK(clGetSupportedImageFormats(context, flags[f], shapes[s], 512, formats, &count));
      for (cl_uint k = 0; k < count; k++) {
        cl_image_format one = formats[k];
        printf("%x %x: %x %llx", one.image_channel_order, one.image_channel_data_type, shapes[s], (unsigned long long)flags[f]);
        /* Depth with a stencil is OpenGL's; video has orders of its own. */
        int is_usual = one.image_channel_order <= CL_sBGRA && one.image_channel_order != CL_DEPTH_STENCIL;
        if (shapes[s] == CL_MEM_OBJECT_IMAGE2D && is_usual) {
          if (f == 0) read_back(one), fill(one);
          if (f == 1) write_there(one);
        }
        printf("\n");
      }
    }
  return 0;
}
