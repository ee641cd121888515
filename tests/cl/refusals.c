/* Every check of calls that Oclgrind has and that applies here, provoked once: calls that must fail,
 * and with which error.  test_misuse.py wants a reason for each from `eumu run --check`. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mistakes;

static void is(int line, const char *what, cl_int found, cl_int wanted) {
  if (found == wanted) return;
  printf("line %d: %s gives %d, not %d\n", line, what, found, wanted);
  mistakes++;
}

#define IS(call, wanted) is(__LINE__, #call, call, wanted)
/* Calls that give an object; `e` is their last argument. */
#define NONE(call, wanted) do { e = CL_SUCCESS; if (call) mistakes++; is(__LINE__, #call, e, wanted); } while (0)

static const char *source =
    "kernel void add(global int *p, int n, local int *t) { p[get_global_id(0)] += n; }\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eights(constant int *a, global int *p) { p[0] = a[0]; }\n"
    "kernel void large(global int *p, local int *t) { local int more[12000]; more[get_local_id(0)] = 1; barrier(CLK_LOCAL_MEM_FENCE); t[0] = more[p[0]]; p[1] = t[0]; }\n"
    "kernel void picture(read_only image2d_t i, sampler_t s, global float4 *p) { p[0] = read_imagef(i, s, (float2)(0, 0)); }\n";
static const char *broken = "kernel void k(global int *p) { p[0] = nothing; }";
static cl_platform_id platform;
static cl_device_id device;
static cl_context c, other;
static cl_command_queue q, foreign;
static cl_program program;
static cl_mem m, part;
static cl_kernel add, eights, large;
static cl_int e;
static int data[64], n = 1;
static size_t zero[3], one[3] = {1, 1, 1}, sixty_four = 64, eight = 8, big = 1 << 20;
static void CL_CALLBACK called(cl_event x, cl_int status, void *user) { (void)x, (void)status, (void)user; }

static void contexts(void) {
  cl_context_properties wrong[] = {99, 1, 0};
  NONE(clCreateContext(0, 0, &device, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateContext(0, 1, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateContext(0, 1, (cl_device_id *)&q, 0, 0, &e), CL_INVALID_DEVICE);
  NONE(clCreateContext(0, 1, &device, 0, data, &e), CL_INVALID_VALUE);
  NONE(clCreateContext(wrong, 1, &device, 0, 0, &e), CL_INVALID_PROPERTY);
  NONE(clCreateContextFromType(0, CL_DEVICE_TYPE_GPU, 0, data, &e), CL_INVALID_VALUE);
  IS(clRetainContext((cl_context)q), CL_INVALID_CONTEXT);
  IS(clReleaseContext((cl_context)q), CL_INVALID_CONTEXT);
  IS(clSetContextDestructorCallback(c, 0, 0), CL_INVALID_VALUE);
  NONE(clCreateCommandQueue((cl_context)q, device, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateCommandQueue(c, (cl_device_id)q, 0, &e), CL_INVALID_DEVICE);
  NONE(clCreateCommandQueue(c, device, 1 << 20, &e), CL_INVALID_VALUE);
  cl_queue_properties on_device[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0}, size[] = {CL_QUEUE_SIZE, 8, 0}, unknown[] = {77, 8, 0};
  NONE(clCreateCommandQueueWithProperties(c, device, on_device, &e), CL_INVALID_QUEUE_PROPERTIES);
  NONE(clCreateCommandQueueWithProperties(c, device, size, &e), CL_INVALID_QUEUE_PROPERTIES);
  NONE(clCreateCommandQueueWithProperties(c, device, unknown, &e), CL_INVALID_VALUE);
  IS(clRetainCommandQueue((cl_command_queue)c), CL_INVALID_COMMAND_QUEUE);
  IS(clReleaseCommandQueue((cl_command_queue)c), CL_INVALID_COMMAND_QUEUE);
  IS(clFlush((cl_command_queue)c), CL_INVALID_COMMAND_QUEUE);
  IS(clFinish((cl_command_queue)c), CL_INVALID_COMMAND_QUEUE);
}

static void memory(void) {
  cl_buffer_region whole = {0, 256}, far = {128, 256}, empty = {0, 0}, odd = {4, 4};
  cl_mem_properties property[] = {5, 5, 0};
  NONE(clCreateBuffer((cl_context)q, 0, 4, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateBuffer(c, 0, 0, 0, &e), CL_INVALID_BUFFER_SIZE);
  NONE(clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, 4, 0, &e), CL_INVALID_HOST_PTR);
  NONE(clCreateBuffer(c, 0, 4, data, &e), CL_INVALID_HOST_PTR);
  NONE(clCreateBuffer(c, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 4, data, &e), CL_INVALID_VALUE);
  NONE(clCreateBuffer(c, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateBufferWithProperties(c, property, 0, 4, 0, &e), CL_INVALID_PROPERTY);
  NONE(clCreateSubBuffer((cl_mem)q, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &e), CL_INVALID_MEM_OBJECT);
  NONE(clCreateSubBuffer(part, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &e), CL_INVALID_MEM_OBJECT);
  NONE(clCreateSubBuffer(m, 0, 7, &whole, &e), CL_INVALID_VALUE);
  NONE(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &far, &e), CL_INVALID_VALUE);
  NONE(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &empty, &e), CL_INVALID_BUFFER_SIZE);
  NONE(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &odd, &e), CL_MISALIGNED_SUB_BUFFER_OFFSET);
  IS(clRetainMemObject((cl_mem)q), CL_INVALID_MEM_OBJECT);
  IS(clReleaseMemObject((cl_mem)q), CL_INVALID_MEM_OBJECT);
  IS(clSetMemObjectDestructorCallback(m, 0, 0), CL_INVALID_VALUE);
}

static void programs(void) {
  const char *null = 0;
  size_t size = 4, none = 0;
  const unsigned char *binary = (const unsigned char *)"xxxx", *no_binary = 0;
  cl_program p = clCreateProgramWithSource(c, 1, &broken, 0, &e);
  NONE(clCreateProgramWithSource((cl_context)q, 1, &source, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateProgramWithSource(c, 0, &source, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithSource(c, 1, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithSource(c, 1, &null, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithBinary(c, 0, &device, &size, &binary, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithBinary(c, 1, &device, 0, &binary, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithBinary(c, 1, &device, &size, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithBinary(c, 1, &device, &none, &no_binary, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithBinary(c, 1, (cl_device_id *)&q, &size, &binary, 0, &e), CL_INVALID_DEVICE);
  NONE(clCreateProgramWithBinary(c, 1, &device, &size, &binary, 0, &e), CL_INVALID_BINARY);
  NONE(clCreateProgramWithBuiltInKernels(c, 1, &device, "x", &e), CL_INVALID_VALUE);
  NONE(clCreateProgramWithIL(c, "none", 4, &e), CL_INVALID_VALUE);
  IS(clRetainProgram((cl_program)q), CL_INVALID_PROGRAM);
  IS(clReleaseProgram((cl_program)q), CL_INVALID_PROGRAM);
  IS(clBuildProgram((cl_program)q, 0, 0, "", 0, 0), CL_INVALID_PROGRAM);
  IS(clBuildProgram(p, 1, 0, "", 0, 0), CL_INVALID_VALUE);
  IS(clBuildProgram(p, 0, &device, "", 0, 0), CL_INVALID_VALUE);
  IS(clBuildProgram(p, 0, 0, "", 0, data), CL_INVALID_VALUE);
  IS(clBuildProgram(p, 1, (cl_device_id *)&q, "", 0, 0), CL_INVALID_DEVICE);
  IS(clBuildProgram(program, 0, 0, "", 0, 0), CL_INVALID_OPERATION);
  NONE(clCreateKernel(p, "k", &e), CL_INVALID_PROGRAM_EXECUTABLE);
  IS(clBuildProgram(p, 0, 0, "", 0, 0), CL_BUILD_PROGRAM_FAILURE);
  IS(clBuildProgram(p, 0, 0, "-no-such-option", 0, 0), CL_INVALID_BUILD_OPTIONS);
  IS(clCompileProgram(p, 0, 0, "-no-such-option", 0, 0, 0, 0, 0), CL_INVALID_COMPILER_OPTIONS);
  NONE(clCreateKernel(p, "k", &e), CL_INVALID_PROGRAM_EXECUTABLE);
  IS(clCreateKernelsInProgram(p, 0, 0, 0), CL_INVALID_PROGRAM_EXECUTABLE);
  IS(clCompileProgram(p, 1, 0, "", 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clCompileProgram(p, 0, 0, "", 1, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clCompileProgram(p, 0, 0, "", 0, 0, 0, 0, data), CL_INVALID_VALUE);
  NONE(clLinkProgram((cl_context)q, 0, 0, "", 1, &p, 0, 0, &e), CL_INVALID_CONTEXT);
  NONE(clLinkProgram(c, 0, 0, "", 0, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clLinkProgram(c, 1, 0, "", 1, &p, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clLinkProgram(c, 0, 0, "", 1, &p, 0, 0, &e), CL_INVALID_OPERATION);
  cl_kernel k[4];
  NONE(clCreateKernel((cl_program)q, "add", &e), CL_INVALID_PROGRAM);
  NONE(clCreateKernel(program, 0, &e), CL_INVALID_VALUE);
  NONE(clCreateKernel(program, "subtract", &e), CL_INVALID_KERNEL_NAME);
  IS(clCreateKernelsInProgram(program, 1, k, 0), CL_INVALID_VALUE);
  cl_program empty = clCreateProgramWithSource(c, 1, (const char *[]){""}, 0, &e);
  IS(clBuildProgram(empty, 0, 0, "", 0, 0), CL_SUCCESS);
  NONE(clCreateKernel(empty, "k", &e), CL_INVALID_KERNEL_NAME);
  clReleaseProgram(p), clReleaseProgram(empty);
}

static void kernels(void) {
  IS(clRetainKernel((cl_kernel)q), CL_INVALID_KERNEL);
  IS(clReleaseKernel((cl_kernel)q), CL_INVALID_KERNEL);
  NONE(clCloneKernel((cl_kernel)q, &e), CL_INVALID_KERNEL);
  IS(clSetKernelArg((cl_kernel)q, 0, 8, &m), CL_INVALID_KERNEL);
  IS(clSetKernelArg(add, 3, 4, &n), CL_INVALID_ARG_INDEX);
  IS(clSetKernelArg(add, 1, 8, &m), CL_INVALID_ARG_SIZE);
  IS(clSetKernelArg(add, 1, 4, 0), CL_INVALID_ARG_VALUE);
  IS(clSetKernelArg(add, 0, 8, &q), CL_INVALID_MEM_OBJECT);
  IS(clSetKernelArg(add, 0, 4, &m), CL_INVALID_ARG_SIZE);
  IS(clSetKernelArg(add, 2, 0, 0), CL_INVALID_ARG_SIZE);
  IS(clSetKernelArg(add, 2, 4, &n), CL_INVALID_ARG_VALUE);
  IS(clSetKernelArgSVMPointer(add, 1, data), CL_INVALID_ARG_VALUE);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, one, 0, 0, 0, 0), CL_INVALID_KERNEL_ARGS);
  clSetKernelArg(add, 0, sizeof m, &m), clSetKernelArg(add, 1, 4, &n), clSetKernelArg(add, 2, 4, 0);
  clSetKernelArg(eights, 0, sizeof m, &m), clSetKernelArg(eights, 1, sizeof m, &m);
  clSetKernelArg(large, 0, sizeof m, &m), clSetKernelArg(large, 1, 40000, 0);
  IS(clEnqueueNDRangeKernel((cl_command_queue)c, add, 1, 0, one, 0, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueNDRangeKernel(q, (cl_kernel)c, 1, 0, one, 0, 0, 0, 0), CL_INVALID_KERNEL);
  IS(clEnqueueNDRangeKernel(foreign, add, 1, 0, one, 0, 0, 0, 0), CL_INVALID_CONTEXT);
  IS(clEnqueueNDRangeKernel(q, add, 4, 0, one, 0, 0, 0, 0), CL_INVALID_WORK_DIMENSION);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, &sixty_four, &(size_t){7}, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, &sixty_four, zero, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
  IS(clEnqueueNDRangeKernel(q, add, 1, &(size_t){SIZE_MAX}, &sixty_four, 0, 0, 0, 0), CL_INVALID_GLOBAL_OFFSET);
  IS(clEnqueueNDRangeKernel(q, add, 1, &(size_t){UINT32_MAX}, &sixty_four, 0, 0, 0, 0), CL_INVALID_GLOBAL_OFFSET);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, &(size_t){SIZE_MAX}, 0, 0, 0, 0), CL_INVALID_GLOBAL_WORK_SIZE);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, &big, &big, 0, 0, 0), CL_INVALID_WORK_ITEM_SIZE);
  IS(clEnqueueNDRangeKernel(q, add, 2, 0, (size_t[]){256, 256}, (size_t[]){256, 256}, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
  IS(clEnqueueNDRangeKernel(q, eights, 1, 0, &sixty_four, &(size_t){4}, 0, 0, 0), CL_INVALID_WORK_GROUP_SIZE);
  IS(clEnqueueNDRangeKernel(q, large, 1, 0, one, 0, 0, 0, 0), CL_OUT_OF_RESOURCES);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, one, 0, 1, 0, 0), CL_INVALID_EVENT_WAIT_LIST);
  IS(clEnqueueNDRangeKernel(q, add, 1, 0, one, 0, 1, (cl_event *)&q, 0), CL_INVALID_EVENT_WAIT_LIST);
}

static void events(void) {
  cl_event user = clCreateUserEvent(c, &e), of_other = clCreateUserEvent(other, &e), command, after;
  cl_ulong time;
  NONE(clCreateUserEvent((cl_context)q, &e), CL_INVALID_CONTEXT);
  IS(clWaitForEvents(0, &user), CL_INVALID_VALUE);
  IS(clWaitForEvents(1, 0), CL_INVALID_VALUE);
  IS(clWaitForEvents(1, (cl_event *)&q), CL_INVALID_EVENT);
  IS(clWaitForEvents(2, (cl_event[]){user, of_other}), CL_INVALID_CONTEXT);
  IS(clEnqueueMarkerWithWaitList(q, 1, &of_other, 0), CL_INVALID_CONTEXT);
  IS(clEnqueueBarrierWithWaitList((cl_command_queue)c, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueMarker(q, 0), CL_INVALID_VALUE);
  IS(clEnqueueWaitForEvents(q, 0, 0), CL_INVALID_VALUE);
  clEnqueueMarkerWithWaitList(q, 0, 0, &command);
  clFinish(q);
  IS(clSetUserEventStatus((cl_event)q, 0), CL_INVALID_EVENT);
  IS(clSetUserEventStatus(command, 0), CL_INVALID_EVENT);
  IS(clSetUserEventStatus(user, 5), CL_INVALID_VALUE);
  IS(clSetEventCallback(user, CL_COMPLETE, 0, 0), CL_INVALID_VALUE);
  IS(clSetEventCallback(user, 17, called, 0), CL_INVALID_VALUE);
  IS(clGetEventProfilingInfo(command, CL_PROFILING_COMMAND_END, 8, &time, 0), CL_PROFILING_INFO_NOT_AVAILABLE);
  IS(clGetEventProfilingInfo(user, CL_PROFILING_COMMAND_END, 8, &time, 0), CL_PROFILING_INFO_NOT_AVAILABLE);
  clEnqueueMarkerWithWaitList(q, 1, &user, &after);
  clSetUserEventStatus(user, -7);
  IS(clSetUserEventStatus(user, 0), CL_INVALID_OPERATION);
  IS(clWaitForEvents(1, &after), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  IS(clRetainEvent((cl_event)q), CL_INVALID_EVENT);
  IS(clReleaseEvent((cl_event)q), CL_INVALID_EVENT);
  clReleaseEvent(user), clReleaseEvent(of_other), clReleaseEvent(command), clReleaseEvent(after);
}

static void transfers(void) {
  cl_mem hidden = clCreateBuffer(c, CL_MEM_HOST_NO_ACCESS, 256, 0, &e), strange = clCreateBuffer(other, 0, 256, 0, &e);
  size_t four[3] = {4, 4, 4}, far[3] = {200, 1, 0};
  IS(clEnqueueReadBuffer((cl_command_queue)c, m, 1, 0, 4, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueReadBuffer(q, (cl_mem)q, 1, 0, 4, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueReadBuffer(q, strange, 1, 0, 4, data, 0, 0, 0), CL_INVALID_CONTEXT);
  IS(clEnqueueReadBuffer(q, m, 1, 0, 4, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBuffer(q, m, 1, 255, 2, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBuffer(q, hidden, 1, 0, 4, data, 0, 0, 0), CL_INVALID_OPERATION);
  IS(clEnqueueWriteBuffer(q, m, 1, 0, 4, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueWriteBuffer(q, m, 1, 255, 2, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueWriteBuffer(q, hidden, 1, 0, 4, data, 0, 0, 0), CL_INVALID_OPERATION);
  IS(clEnqueueReadBufferRect(q, m, 1, zero, zero, four, 0, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, 1, zero, zero, zero, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, 1, far, zero, four, 64, 0, 0, 0, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, hidden, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_OPERATION);
  IS(clEnqueueWriteBufferRect(q, m, 1, zero, zero, four, 0, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueWriteBufferRect(q, m, 1, far, zero, four, 64, 0, 0, 0, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueWriteBufferRect(q, hidden, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_OPERATION);
  IS(clEnqueueCopyBuffer(q, (cl_mem)q, m, 0, 0, 4, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyBuffer(q, m, (cl_mem)q, 0, 0, 4, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyBuffer(q, m, hidden, 255, 0, 4, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyBuffer(q, m, hidden, 0, 255, 4, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyBuffer(q, m, m, 0, 8, 16, 0, 0, 0), CL_MEM_COPY_OVERLAP);
  IS(clEnqueueCopyBuffer(q, m, m, 8, 0, 16, 0, 0, 0), CL_MEM_COPY_OVERLAP);
  IS(clEnqueueCopyBufferRect(q, m, hidden, zero, zero, zero, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyBufferRect(q, m, hidden, far, zero, four, 64, 0, 64, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyBufferRect(q, m, hidden, zero, far, four, 64, 0, 64, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillBuffer(q, m, &n, 4, 254, 4, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillBuffer(q, m, 0, 4, 0, 4, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillBuffer(q, m, &n, 3, 0, 3, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillBuffer(q, m, &n, 4, 2, 4, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillBuffer(q, m, &n, 4, 0, 6, 0, 0, 0), CL_INVALID_VALUE);
  NONE(clEnqueueMapBuffer((cl_command_queue)c, m, 1, CL_MAP_READ, 0, 4, 0, 0, 0, &e), CL_INVALID_COMMAND_QUEUE);
  NONE(clEnqueueMapBuffer(q, (cl_mem)q, 1, CL_MAP_READ, 0, 4, 0, 0, 0, &e), CL_INVALID_MEM_OBJECT);
  NONE(clEnqueueMapBuffer(q, hidden, 1, CL_MAP_READ, 0, 4, 0, 0, 0, &e), CL_INVALID_OPERATION);
  NONE(clEnqueueMapBuffer(q, hidden, 1, CL_MAP_WRITE, 0, 4, 0, 0, 0, &e), CL_INVALID_OPERATION);
  NONE(clEnqueueMapBuffer(q, m, 1, CL_MAP_READ, 255, 4, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clEnqueueMapBuffer(q, m, 1, 64, 0, 4, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clEnqueueMapBuffer(q, m, 1, CL_MAP_READ, 0, 0, 0, 0, 0, &e), CL_INVALID_VALUE);
  IS(clEnqueueUnmapMemObject(q, m, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueUnmapMemObject(q, (cl_mem)q, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueMigrateMemObjects(q, 0, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueMigrateMemObjects(q, 2, (cl_mem[]){m, strange}, 0, 0, 0, 0), CL_INVALID_CONTEXT);
  IS(clEnqueueNativeKernel(q, 0, 0, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_OPERATION);
  /* no bytes are no mistake since OpenCL 2.1 */
  IS(clEnqueueReadBuffer(q, m, 1, 0, 0, data, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueWriteBuffer(q, m, 1, 256, 0, data, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueWriteBuffer(q, m, 1, 257, 0, data, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyBuffer(q, m, m, 0, 0, 0, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueFillBuffer(q, m, &n, 4, 0, 0, 0, 0, 0), CL_SUCCESS);
  clReleaseMemObject(hidden), clReleaseMemObject(strange);
}

/* Bytes that calls give by address, and that go beyond an allocation. */
static void addresses(void) {
  char *a = clSVMAlloc(c, CL_MEM_READ_WRITE, 100, 0), *b = clSVMAlloc(c, CL_MEM_READ_WRITE, 400, 0), here[400];
  const void *list[] = {a, here};
  size_t sizes[] = {101, 0}, ten[3] = {10, 10, 1};
  IS(clEnqueueSVMMemcpy(q, 1, a, b, 101, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueSVMMemcpy(q, 1, b, a + 1, 100, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueSVMMemFill(q, a, &n, 4, 104, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueSVMMap(q, 1, CL_MAP_READ, a + 99, 2, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueSVMMigrateMem(q, 1, list, sizes, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueSVMMigrateMem(q, 2, list, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBuffer(q, m, 1, 0, 101, a, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueWriteBuffer(q, m, 1, 0, 4, a + 97, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadBufferRect(q, m, 1, zero, zero, ten, 10, 0, 11, 0, a, 0, 0, 0), CL_INVALID_VALUE);
  NONE(clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 101, a, &e), CL_INVALID_BUFFER_SIZE);
  NONE(clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, 101, a, &e), CL_INVALID_BUFFER_SIZE);
  sizes[0] = 100;
  IS(clEnqueueSVMMemcpy(q, 1, a, b, 100, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueSVMMemcpy(q, 1, here, b, 400, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueSVMMemFill(q, a, &n, 4, 100, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueSVMMigrateMem(q, 1, list, sizes, 0, 0, 0, 0), CL_SUCCESS);
  IS(clEnqueueReadBufferRect(q, m, 1, zero, zero, ten, 10, 0, 10, 0, a, 0, 0, 0), CL_SUCCESS);
  clSVMFree(c, a), clSVMFree(c, b);
}

/* What is no handle, or one of another kind, for each call that takes one and is not above. */
static void handles(void) {
  cl_command_queue not_q = (cl_command_queue)c;
  cl_mem not_m = (cl_mem)q;
  cl_program not_p = (cl_program)q;
  cl_device_id not_d = (cl_device_id)q;
  cl_kernel not_k = (cl_kernel)q;
  char value[64];
  size_t four[3] = {4, 1, 1};
  cl_program p = clCreateProgramWithSource(c, 1, &source, 0, &e);
  IS(clEnqueueWriteBuffer(not_q, m, 1, 0, 4, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueWriteBuffer(q, not_m, 1, 0, 4, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueReadBufferRect(not_q, m, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueReadBufferRect(q, not_m, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueWriteBufferRect(not_q, m, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueWriteBufferRect(q, not_m, 1, zero, zero, four, 0, 0, 0, 0, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyBuffer(not_q, m, m, 0, 8, 4, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueCopyBufferRect(not_q, m, m, zero, zero, four, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueCopyBufferRect(q, not_m, m, zero, zero, four, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueFillBuffer(not_q, m, &n, 4, 0, 4, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueFillBuffer(q, not_m, &n, 4, 0, 4, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueUnmapMemObject(not_q, m, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueMigrateMemObjects(not_q, 1, &m, 0, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueMarkerWithWaitList(not_q, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueNativeKernel(not_q, 0, 0, 0, 0, 0, 0, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  NONE(clCreateCommandQueueWithProperties((cl_context)q, device, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateCommandQueueWithProperties(c, not_d, 0, &e), CL_INVALID_DEVICE);
  NONE(clCreateProgramWithBinary((cl_context)q, 1, &device, &eight, (const unsigned char *[]){(void *)data}, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateProgramWithBuiltInKernels((cl_context)q, 1, &device, "k", &e), CL_INVALID_CONTEXT);
  NONE(clLinkProgram(c, 1, &not_d, "", 1, &p, 0, 0, &e), CL_INVALID_DEVICE);
  NONE(clCreatePipe(c, 0, 4, 4, 0, &e), CL_INVALID_OPERATION);
  IS(clGetPipeInfo(m, CL_PIPE_PACKET_SIZE, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clCompileProgram(not_p, 0, 0, "", 0, 0, 0, 0, 0), CL_INVALID_PROGRAM);
  IS(clCompileProgram(p, 1, &not_d, "", 0, 0, 0, 0, 0), CL_INVALID_DEVICE);
  IS(clCompileProgram(p, 0, 0, "", 1, &not_p, (const char *[]){"h"}, 0, 0), CL_INVALID_PROGRAM);
  IS(clCreateKernelsInProgram(not_p, 0, 0, 0), CL_INVALID_PROGRAM);
  IS(clCreateSubDevices(device, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clSetContextDestructorCallback((cl_context)q, 0, 0), CL_INVALID_CONTEXT);
  IS(clSetMemObjectDestructorCallback(not_m, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clSetEventCallback((cl_event)q, CL_COMPLETE, called, 0), CL_INVALID_EVENT);
  IS(clSetKernelArgSVMPointer(not_k, 0, data), CL_INVALID_KERNEL);
  IS(clGetCommandQueueInfo(not_q, CL_QUEUE_CONTEXT, sizeof value, value, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clGetContextInfo((cl_context)q, CL_CONTEXT_NUM_DEVICES, sizeof value, value, 0), CL_INVALID_CONTEXT);
  IS(clGetDeviceInfo(not_d, CL_DEVICE_TYPE, sizeof value, value, 0), CL_INVALID_DEVICE);
  IS(clGetEventInfo((cl_event)q, CL_EVENT_CONTEXT, sizeof value, value, 0), CL_INVALID_EVENT);
  IS(clGetEventProfilingInfo((cl_event)q, CL_PROFILING_COMMAND_END, sizeof value, value, 0), CL_INVALID_EVENT);
  IS(clGetImageInfo(not_m, CL_IMAGE_WIDTH, sizeof value, value, 0), CL_INVALID_MEM_OBJECT);
  IS(clGetImageInfo(m, CL_IMAGE_WIDTH, sizeof value, value, 0), CL_INVALID_MEM_OBJECT);
  IS(clGetKernelInfo(not_k, CL_KERNEL_NUM_ARGS, sizeof value, value, 0), CL_INVALID_KERNEL);
  IS(clGetKernelArgInfo(not_k, 0, CL_KERNEL_ARG_NAME, sizeof value, value, 0), CL_INVALID_KERNEL);
  IS(clGetKernelArgInfo(add, 9, CL_KERNEL_ARG_NAME, sizeof value, value, 0), CL_INVALID_ARG_INDEX);
  IS(clGetKernelWorkGroupInfo(not_k, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof value, value, 0), CL_INVALID_KERNEL);
  IS(clGetKernelWorkGroupInfo(add, not_d, CL_KERNEL_WORK_GROUP_SIZE, sizeof value, value, 0), CL_INVALID_DEVICE);
  IS(clGetMemObjectInfo(not_m, CL_MEM_SIZE, sizeof value, value, 0), CL_INVALID_MEM_OBJECT);
  IS(clGetProgramInfo(not_p, CL_PROGRAM_CONTEXT, sizeof value, value, 0), CL_INVALID_PROGRAM);
  IS(clGetProgramInfo(p, CL_PROGRAM_NUM_KERNELS, sizeof value, value, 0), CL_INVALID_PROGRAM_EXECUTABLE);
  IS(clGetProgramBuildInfo(not_p, device, CL_PROGRAM_BUILD_STATUS, sizeof value, value, 0), CL_INVALID_PROGRAM);
  IS(clGetSamplerInfo((cl_sampler)q, CL_SAMPLER_FILTER_MODE, sizeof value, value, 0), CL_INVALID_SAMPLER);
  IS(clGetSupportedImageFormats((cl_context)q, 0, CL_MEM_OBJECT_IMAGE2D, 0, 0, 0), CL_INVALID_CONTEXT);
  IS(clGetSupportedImageFormats(c, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D, 0, 0, 0), CL_INVALID_VALUE);
  IS(clGetSupportedImageFormats(c, 0, CL_MEM_OBJECT_BUFFER, 0, 0, 0), CL_INVALID_VALUE);
  clReleaseProgram(p);
}

/* An image of memory that is too short for it. */
static void host_memory(cl_image_format *rgba) {
  cl_image_desc flat = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8, .image_row_pitch = 40};
  cl_image_desc layers = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 2, .image_height = 2, .image_array_size = 3, .image_slice_pitch = 100};
  char *a = clSVMAlloc(c, CL_MEM_READ_WRITE, 7 * 40 + 32, 0);
  NONE(clCreateImage(c, CL_MEM_COPY_HOST_PTR, rgba, &flat, a + 1, &e), CL_INVALID_HOST_PTR);
  NONE(clCreateImage(c, CL_MEM_USE_HOST_PTR, rgba, &layers, a + 100, &e), CL_INVALID_HOST_PTR);
  flat.image_row_pitch = (size_t)1 << 62;
  NONE(clCreateImage(c, CL_MEM_COPY_HOST_PTR, rgba, &flat, a, &e), CL_INVALID_IMAGE_DESCRIPTOR);
  flat.image_row_pitch = 40;
  cl_mem i = clCreateImage(c, CL_MEM_COPY_HOST_PTR, rgba, &flat, a, &e), j = clCreateImage(c, CL_MEM_USE_HOST_PTR, rgba, &layers, a + 96, &e);
  IS(clReleaseMemObject(i), CL_SUCCESS);
  IS(clReleaseMemObject(j), CL_SUCCESS);
  clSVMFree(c, a);
}

static void images(void) {
  cl_image_format rgba = {CL_RGBA, CL_UNORM_INT8}, r = {CL_R, CL_FLOAT}, none = {1, 2}, other = {CL_RA, CL_UNORM_INT8}, packed = {CL_RGB, CL_UNORM_SHORT_565}, to_read = {CL_INTENSITY, CL_FLOAT};
  cl_image_desc flat = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8}, line = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 8}, empty = {.image_type = CL_MEM_OBJECT_IMAGE2D};
  cl_mem i = clCreateImage(c, 0, &rgba, &flat, 0, &e), j = clCreateImage(c, 0, &r, &flat, 0, &e);
  cl_kernel k = clCreateKernel(program, "picture", &e);
  size_t nine[3] = {9, 1, 1}, pitch;
  float color[4] = {0};
  NONE(clCreateImage((cl_context)q, 0, &rgba, &flat, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateImage(c, 0, 0, &flat, 0, &e), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  NONE(clCreateImage(c, 0, &none, &flat, 0, &e), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  NONE(clCreateImage(c, 0, &other, &flat, 0, &e), CL_IMAGE_FORMAT_NOT_SUPPORTED);
  NONE(clCreateImage(c, 0, &packed, &flat, 0, &e), CL_IMAGE_FORMAT_NOT_SUPPORTED);
  NONE(clCreateImage(c, 0, &to_read, &flat, 0, &e), CL_IMAGE_FORMAT_NOT_SUPPORTED);
  NONE(clCreateImage(c, 0, &rgba, 0, 0, &e), CL_INVALID_IMAGE_DESCRIPTOR);
  NONE(clCreateImage(c, 0, &rgba, &line, 0, &e), CL_INVALID_IMAGE_DESCRIPTOR);
  NONE(clCreateImage(c, 0, &rgba, &empty, 0, &e), CL_INVALID_IMAGE_SIZE);
  host_memory(&rgba);
  NONE(clCreateSampler(c, 1, 5, CL_FILTER_NEAREST, &e), CL_INVALID_VALUE);
  NONE(clCreateSampler(c, 1, CL_ADDRESS_CLAMP, 5, &e), CL_INVALID_VALUE);
  NONE(clCreateSampler((cl_context)q, 1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &e), CL_INVALID_CONTEXT);
  IS(clRetainSampler((cl_sampler)q), CL_INVALID_SAMPLER);
  IS(clReleaseSampler((cl_sampler)q), CL_INVALID_SAMPLER);
  IS(clSetKernelArg(k, 1, 8, &q), CL_INVALID_SAMPLER);
  IS(clSetKernelArg(k, 0, 8, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueFillImage(q, m, color, zero, one, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueFillImage(q, i, 0, zero, one, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillImage(q, i, color, zero, zero, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillImage(q, i, color, zero, nine, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillImage(q, i, color, (size_t[]){0, 8, 0}, one, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueFillImage(q, i, color, (size_t[]){0, 0, 1}, one, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueReadImage(q, m, 1, zero, one, 0, 0, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueWriteImage(q, i, 1, zero, one, 0, 0, 0, 0, 0, 0), CL_INVALID_VALUE);
  IS(clEnqueueCopyImage(q, i, j, zero, zero, one, 0, 0, 0), CL_IMAGE_FORMAT_MISMATCH);
  IS(clEnqueueCopyImageToBuffer(q, i, i, zero, one, 0, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyBufferToImage(q, m, m, 0, zero, one, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  NONE(clEnqueueMapImage(q, i, 1, CL_MAP_READ, zero, one, 0, 0, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clEnqueueMapImage(q, i, 1, CL_MAP_READ, zero, nine, &pitch, 0, 0, 0, 0, &e), CL_INVALID_VALUE);
  NONE(clEnqueueMapImage(q, m, 1, CL_MAP_READ, zero, one, &pitch, 0, 0, 0, 0, &e), CL_INVALID_MEM_OBJECT);
  cl_command_queue not_q = (cl_command_queue)c;
  cl_mem not_m = (cl_mem)q, hidden = clCreateImage(c, CL_MEM_HOST_NO_ACCESS, &rgba, &flat, 0, &e);
  NONE(clEnqueueMapImage(not_q, i, 1, CL_MAP_READ, zero, one, &pitch, 0, 0, 0, 0, &e), CL_INVALID_COMMAND_QUEUE);
  NONE(clEnqueueMapImage(q, hidden, 1, CL_MAP_READ, zero, one, &pitch, 0, 0, 0, 0, &e), CL_INVALID_OPERATION);
  NONE(clCreateSamplerWithProperties((cl_context)q, 0, &e), CL_INVALID_CONTEXT);
  NONE(clCreateSamplerWithProperties(c, (cl_sampler_properties[]){77, 1, 0}, &e), CL_INVALID_VALUE);
  NONE(clCreateImageWithProperties(c, (cl_mem_properties[]){77, 1, 0}, 0, &rgba, &flat, 0, &e), CL_INVALID_PROPERTY);
  IS(clEnqueueReadImage(not_q, i, 1, zero, one, 0, 0, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueReadImage(q, hidden, 1, zero, one, 0, 0, data, 0, 0, 0), CL_INVALID_OPERATION);
  IS(clEnqueueWriteImage(not_q, i, 1, zero, one, 0, 0, data, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueWriteImage(q, not_m, 1, zero, one, 0, 0, data, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyImage(not_q, i, i, zero, zero, one, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueCopyImage(q, i, not_m, zero, zero, one, 0, 0, 0), CL_INVALID_MEM_OBJECT);
  IS(clEnqueueCopyImageToBuffer(not_q, i, m, zero, one, 0, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueCopyBufferToImage(not_q, m, i, 0, zero, one, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  IS(clEnqueueFillImage(not_q, i, color, zero, one, 0, 0, 0), CL_INVALID_COMMAND_QUEUE);
  clReleaseMemObject(hidden);
  clReleaseMemObject(i), clReleaseMemObject(j), clReleaseKernel(k);
}

int main(void) {
  cl_buffer_region half = {0, 128};
  cl_bool has_images;
  clGetPlatformIDs(1, &platform, 0);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
  clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, 0);
  c = clCreateContext(0, 1, &device, 0, 0, &e), other = clCreateContext(0, 1, &device, 0, 0, &e);
  q = clCreateCommandQueue(c, device, 0, &e), foreign = clCreateCommandQueue(other, device, 0, &e);
  program = clCreateProgramWithSource(c, 1, &source, 0, &e);
  if (clBuildProgram(program, 0, 0, "", 0, 0)) return 9;
  m = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, 256, data, &e);
  part = clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &e);
  add = clCreateKernel(program, "add", &e), eights = clCreateKernel(program, "eights", &e), large = clCreateKernel(program, "large", &e);
  contexts(), memory(), programs(), kernels(), events(), transfers(), addresses(), handles();
  if (has_images) images();
  clFinish(q);
  /* a kernel that writes what it may only read: no call fails */
  cl_mem constant = clCreateBuffer(c, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, 256, data, &e);
  clSetKernelArg(add, 0, sizeof constant, &constant);
  clEnqueueNDRangeKernel(q, add, 1, 0, &eight, 0, 0, 0, 0);
  /* and one that reads what it may only write: it runs all the same */
  cl_mem written = clCreateBuffer(c, CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR, 256, data, &e);
  clSetKernelArg(add, 0, sizeof written, &written);
  for (int k = 0; k < 2; k++) IS(clEnqueueNDRangeKernel(q, add, 1, 0, &eight, 0, 0, 0, 0), CL_SUCCESS);
  int found[8];
  IS(clEnqueueReadBuffer(q, written, CL_TRUE, 0, sizeof found, found, 0, 0, 0), CL_SUCCESS);
  for (int k = 0; k < 8; k++) IS(found[k], data[k] + 2 * n);
  clReleaseMemObject(written);
  clReleaseMemObject(constant), clReleaseMemObject(part), clReleaseMemObject(m);
  clReleaseKernel(add), clReleaseKernel(eights), clReleaseKernel(large), clReleaseProgram(program);
  clReleaseCommandQueue(q), clReleaseCommandQueue(foreign), clReleaseContext(c), clReleaseContext(other);
  return mistakes;
}
