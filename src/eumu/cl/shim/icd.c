/* How the loader reaches the driver: the table of entry points, and functions by name. */
#define _GNU_SOURCE
#include "driver.h"

/* What this driver does not have: sharing with other interfaces, and pipes. */
static cl_int absent(void) { return CL_INVALID_OPERATION; }
static cl_int clGetPipeInfo(void) { return CL_INVALID_MEM_OBJECT; }

static void *no_object(cl_int *error) {
  if (error) *error = CL_INVALID_OPERATION;
  return 0;
}

static void *no_object_3(void *a, void *b, cl_int *error) { (void)a, (void)b; return no_object(error); }

static void *no_object_4(void *a, void *b, void *c, cl_int *error) {
  (void)a, (void)b, (void)c;
  return no_object(error);
}

static void *no_object_6(void *a, void *b, void *c, void *d, void *e, cl_int *error) {
  (void)a, (void)b, (void)c, (void)d, (void)e;
  return no_object(error);
}

void *dispatch[] = { /* in the order of the loader's cl_icd.h */
    (void *)clGetPlatformIDs, (void *)clGetPlatformInfo, (void *)clGetDeviceIDs,
    (void *)clGetDeviceInfo, (void *)clCreateContext, (void *)clCreateContextFromType,
    (void *)clRetainContext, (void *)clReleaseContext, (void *)clGetContextInfo,
    (void *)clCreateCommandQueue, (void *)clRetainCommandQueue, (void *)clReleaseCommandQueue,
    (void *)clGetCommandQueueInfo, (void *)clSetCommandQueueProperty, (void *)clCreateBuffer,
    (void *)clCreateImage2D, (void *)clCreateImage3D, (void *)clRetainMemObject,
    (void *)clReleaseMemObject, (void *)clGetSupportedImageFormats, (void *)clGetMemObjectInfo,
    (void *)clGetImageInfo, (void *)clCreateSampler, (void *)clRetainSampler,
    (void *)clReleaseSampler, (void *)clGetSamplerInfo, (void *)clCreateProgramWithSource,
    (void *)clCreateProgramWithBinary, (void *)clRetainProgram, (void *)clReleaseProgram,
    (void *)clBuildProgram, (void *)clUnloadCompiler, (void *)clGetProgramInfo,
    (void *)clGetProgramBuildInfo, (void *)clCreateKernel, (void *)clCreateKernelsInProgram,
    (void *)clRetainKernel, (void *)clReleaseKernel, (void *)clSetKernelArg,
    (void *)clGetKernelInfo, (void *)clGetKernelWorkGroupInfo, (void *)clWaitForEvents,
    (void *)clGetEventInfo, (void *)clRetainEvent, (void *)clReleaseEvent,
    (void *)clGetEventProfilingInfo, (void *)clFlush, (void *)clFinish, (void *)clEnqueueReadBuffer,
    (void *)clEnqueueWriteBuffer, (void *)clEnqueueCopyBuffer, (void *)clEnqueueReadImage,
    (void *)clEnqueueWriteImage, (void *)clEnqueueCopyImage, (void *)clEnqueueCopyImageToBuffer,
    (void *)clEnqueueCopyBufferToImage, (void *)clEnqueueMapBuffer, (void *)clEnqueueMapImage,
    (void *)clEnqueueUnmapMemObject, (void *)clEnqueueNDRangeKernel, (void *)clEnqueueTask,
    (void *)clEnqueueNativeKernel, (void *)clEnqueueMarker, (void *)clEnqueueWaitForEvents,
    (void *)clEnqueueBarrier, (void *)clGetExtensionFunctionAddress, (void *)no_object_4,
    (void *)no_object_6, (void *)no_object_6, (void *)no_object_4, (void *)absent, (void *)absent,
    (void *)absent, (void *)absent, (void *)absent, (void *)absent, (void *)absent, (void *)absent,
    (void *)absent, (void *)absent, (void *)absent, (void *)clSetEventCallback,
    (void *)clCreateSubBuffer, (void *)clSetMemObjectDestructorCallback, (void *)clCreateUserEvent,
    (void *)clSetUserEventStatus, (void *)clEnqueueReadBufferRect, (void *)clEnqueueWriteBufferRect,
    (void *)clEnqueueCopyBufferRect, (void *)clCreateSubDevices, (void *)clRetainDevice,
    (void *)clReleaseDevice, (void *)no_object_3, (void *)clCreateSubDevices,
    (void *)clRetainDevice, (void *)clReleaseDevice, (void *)clCreateImage,
    (void *)clCreateProgramWithBuiltInKernels, (void *)clCompileProgram, (void *)clLinkProgram,
    (void *)clUnloadPlatformCompiler, (void *)clGetKernelArgInfo, (void *)clEnqueueFillBuffer,
    (void *)clEnqueueFillImage, (void *)clEnqueueMigrateMemObjects,
    (void *)clEnqueueMarkerWithWaitList, (void *)clEnqueueBarrierWithWaitList,
    (void *)clGetExtensionFunctionAddressForPlatform, (void *)no_object_6, (void *)absent,
    (void *)absent, (void *)absent, (void *)absent, (void *)absent, (void *)absent, (void *)absent,
    (void *)absent, (void *)absent, (void *)absent, (void *)no_object_6, (void *)absent,
    (void *)absent, (void *)no_object_4, (void *)clCreateCommandQueueWithProperties,
    (void *)no_object_6, (void *)clGetPipeInfo, (void *)clSVMAlloc, (void *)clSVMFree,
    (void *)clEnqueueSVMFree, (void *)clEnqueueSVMMemcpy, (void *)clEnqueueSVMMemFill,
    (void *)clEnqueueSVMMap, (void *)clEnqueueSVMUnmap, (void *)clCreateSamplerWithProperties,
    (void *)clSetKernelArgSVMPointer, (void *)clSetKernelExecInfo,
    (void *)clGetKernelSubGroupInfoKHR, (void *)clCloneKernel, (void *)clCreateProgramWithIL,
    (void *)clEnqueueSVMMigrateMem, (void *)clGetDeviceAndHostTimer, (void *)clGetHostTimer,
    (void *)clGetKernelSubGroupInfo, (void *)clSetDefaultDeviceCommandQueue,
    (void *)clSetProgramReleaseCallback, (void *)clSetProgramSpecializationConstant,
    (void *)clCreateBufferWithProperties, (void *)clCreateImageWithProperties,
    (void *)clSetContextDestructorCallback,
};

const size_t dispatch_count = COUNT(dispatch);

#define NAMED(f) {#f, (void *)f},
static const struct { const char *name; void *function; } functions[] = {
    NAMED(clBuildProgram) NAMED(clCloneKernel) NAMED(clCompileProgram) NAMED(clCreateBuffer)
    NAMED(clCreateBufferWithProperties) NAMED(clCreateCommandQueue)
    NAMED(clCreateCommandQueueWithProperties)
    {"clCreateCommandQueueWithPropertiesKHR", (void *)clCreateCommandQueueWithProperties},
    NAMED(clCreateContext) NAMED(clCreateContextFromType) NAMED(clCreateImage)
    NAMED(clCreateImage2D) NAMED(clCreateImage3D) NAMED(clCreateImageWithProperties)
    NAMED(clCreateKernel) NAMED(clCreateKernelsInProgram) NAMED(clCreateProgramWithBinary)
    NAMED(clCreateProgramWithBuiltInKernels) NAMED(clCreateProgramWithIL)
    {"clCreateProgramWithILKHR", (void *)clCreateProgramWithIL}, NAMED(clCreateProgramWithSource)
    NAMED(clCreateSampler) NAMED(clCreateSamplerWithProperties) NAMED(clCreateSubBuffer)
    NAMED(clCreateSubDevices) NAMED(clCreateUserEvent) NAMED(clDeviceMemAllocINTEL)
    NAMED(clEnqueueBarrier) NAMED(clEnqueueBarrierWithWaitList) NAMED(clEnqueueCopyBuffer)
    NAMED(clEnqueueCopyBufferRect) NAMED(clEnqueueCopyBufferToImage) NAMED(clEnqueueCopyImage)
    NAMED(clEnqueueCopyImageToBuffer) NAMED(clEnqueueFillBuffer) NAMED(clEnqueueFillImage)
    NAMED(clEnqueueMapBuffer) NAMED(clEnqueueMapImage) NAMED(clEnqueueMarker)
    NAMED(clEnqueueMarkerWithWaitList) NAMED(clEnqueueMemAdviseINTEL) NAMED(clEnqueueMemFillINTEL)
    NAMED(clEnqueueMemcpyINTEL) NAMED(clEnqueueMigrateMemINTEL) NAMED(clEnqueueMigrateMemObjects)
    NAMED(clEnqueueNDRangeKernel) NAMED(clEnqueueNativeKernel) NAMED(clEnqueueReadBuffer)
    NAMED(clEnqueueReadBufferRect) NAMED(clEnqueueReadImage) NAMED(clEnqueueSVMFree)
    NAMED(clEnqueueSVMMap) NAMED(clEnqueueSVMMemFill) NAMED(clEnqueueSVMMemcpy)
    NAMED(clEnqueueSVMMigrateMem) NAMED(clEnqueueSVMUnmap) NAMED(clEnqueueTask)
    NAMED(clEnqueueUnmapMemObject) NAMED(clEnqueueWaitForEvents) NAMED(clEnqueueWriteBuffer)
    NAMED(clEnqueueWriteBufferRect) NAMED(clEnqueueWriteImage) NAMED(clFinish) NAMED(clFlush)
    NAMED(clGetCommandQueueInfo) NAMED(clGetContextInfo) NAMED(clGetDeviceAndHostTimer)
    NAMED(clGetDeviceIDs) NAMED(clGetDeviceInfo) NAMED(clGetEventInfo)
    NAMED(clGetEventProfilingInfo) NAMED(clGetExtensionFunctionAddress)
    NAMED(clGetExtensionFunctionAddressForPlatform) NAMED(clGetHostTimer) NAMED(clGetImageInfo)
    NAMED(clGetKernelArgInfo) NAMED(clGetKernelInfo) NAMED(clGetKernelSubGroupInfo)
    NAMED(clGetKernelSubGroupInfoKHR) NAMED(clGetKernelSuggestedLocalWorkSizeKHR)
    NAMED(clGetKernelWorkGroupInfo) NAMED(clGetMemAllocInfoINTEL) NAMED(clGetMemObjectInfo)
    NAMED(clGetPlatformIDs) NAMED(clGetPlatformInfo) NAMED(clGetProgramBuildInfo)
    NAMED(clGetProgramInfo) NAMED(clGetSamplerInfo) NAMED(clGetSupportedImageFormats)
    NAMED(clHostMemAllocINTEL) NAMED(clIcdGetPlatformIDsKHR) NAMED(clLinkProgram)
    NAMED(clMemBlockingFreeINTEL) NAMED(clMemFreeINTEL) NAMED(clReleaseCommandQueue)
    NAMED(clReleaseContext) NAMED(clReleaseDevice) NAMED(clReleaseEvent) NAMED(clReleaseKernel)
    NAMED(clReleaseMemObject) NAMED(clReleaseProgram) NAMED(clReleaseSampler)
    NAMED(clRetainCommandQueue) NAMED(clRetainContext) NAMED(clRetainDevice) NAMED(clRetainEvent)
    NAMED(clRetainKernel) NAMED(clRetainMemObject) NAMED(clRetainProgram) NAMED(clRetainSampler)
    NAMED(clSVMAlloc) NAMED(clSVMFree) NAMED(clSetCommandQueueProperty)
    NAMED(clSetContextDestructorCallback) NAMED(clSetDefaultDeviceCommandQueue)
    NAMED(clSetEventCallback) NAMED(clSetKernelArg) NAMED(clSetKernelArgMemPointerINTEL)
    NAMED(clSetKernelArgSVMPointer) NAMED(clSetKernelExecInfo)
    NAMED(clSetMemObjectDestructorCallback) NAMED(clSetProgramReleaseCallback)
    NAMED(clSetProgramSpecializationConstant) NAMED(clSetUserEventStatus)
    NAMED(clSharedMemAllocINTEL) NAMED(clUnloadCompiler) NAMED(clUnloadPlatformCompiler)
    NAMED(clWaitForEvents)
};

EXPORT void *clGetExtensionFunctionAddress(const char *name) {
  for (size_t k = 0; name && k < COUNT(functions); k++)
    if (!strcmp(functions[k].name, name)) return watched(functions[k].function);
  return 0;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
  return is_object(platform, PLATFORM) ? clGetExtensionFunctionAddress(name) : 0;
}
