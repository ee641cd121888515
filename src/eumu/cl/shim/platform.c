/* The platform, its one device, and contexts. */
#include "driver.h"

#define VERSION(major, minor, patch) ((major) << 22 | (minor) << 12 | (patch))
#define VENDOR_ID 0x8086
#define PRINTF_BYTES (4u << 20)

struct Object the_platform = {dispatch, PLATFORM, .refs = 1, .number = 1};
struct Object the_device = {dispatch, DEVICE, .refs = 1, .number = 1};

#define DOT_PRODUCTS "cl_khr_integer_dot_product"
#define FLOAT_ATOMICS "cl_ext_float_atomics"

/* ---- names with versions: words of a text, all but one of version `version` */

static cl_int answer_versions(const char *text, cl_uint version, size_t size, void *value, size_t *size_ret) {
  size_t count = 0;
  for (const char *c = text; *c; c++) count += *c == ' ' || !c[1];
  cl_name_version *made = room((count + 1) * sizeof *made);
  size_t k = 0, n = 0;
  for (const char *c = text; *c; c++) {
    if (*c == ' ') { k += n > 0, n = 0; continue; }
    if (n < sizeof made->name - 1) made[k].name[n++] = *c;
    made[k].version = version;
  }
  k += n > 0;
  for (size_t at = 0; at < k; at++)
    if (!strcmp(made[at].name, DOT_PRODUCTS)) made[at].version = VERSION(2, 0, 0);
  cl_int wrong = answer(made, k * sizeof *made, size, value, size_ret);
  free(made);
  return wrong;
}

/* ---- platform */

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint room_for, cl_platform_id *found, cl_uint *count) {
  if ((!room_for && found) || (!found && !count)) return CL_INVALID_VALUE;
  if (found) found[0] = (cl_platform_id)&the_platform;
  if (count) *count = 1;
  return CL_SUCCESS;
}

ENTRY cl_int clGetPlatformIDs(cl_uint room_for, cl_platform_id *found, cl_uint *count) {
  return clIcdGetPlatformIDsKHR(room_for, found, count);
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id platform, cl_uint what, size_t size, void *value, size_t *size_ret) {
  if (platform && !is_object(platform, PLATFORM)) return CL_INVALID_PLATFORM;
  cl_uint version = VERSION(3, 0, 0);
  cl_ulong resolution = 1;
  switch (what) {
    case CL_PLATFORM_PROFILE: return answer_text("FULL_PROFILE", size, value, size_ret);
    case CL_PLATFORM_VERSION: return answer_text("OpenCL 3.0 eumu", size, value, size_ret);
    case CL_PLATFORM_NUMERIC_VERSION: return answer(&version, sizeof version, size, value, size_ret);
    case CL_PLATFORM_NAME: return answer_text("eumu", size, value, size_ret);
    case CL_PLATFORM_VENDOR: return answer_text("eumu", size, value, size_ret);
    case CL_PLATFORM_ICD_SUFFIX_KHR: return answer_text("EUMU", size, value, size_ret);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION: return answer(&resolution, sizeof resolution, size, value, size_ret);
    case CL_PLATFORM_EXTENSIONS:
      return is_there() ? answer_text(facts.extensions, size, value, size_ret) : answer_text("cl_khr_icd", size, value, size_ret);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
      return answer_versions(is_there() ? facts.extensions : "cl_khr_icd", VERSION(1, 0, 0), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

/* ---- device */

ENTRY cl_int clGetDeviceIDs(cl_platform_id platform, cl_bitfield type, cl_uint room_for, cl_device_id *found, cl_uint *count) {
  if (platform && !is_object(platform, PLATFORM)) return CL_INVALID_PLATFORM;
  cl_bitfield known = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM | CL_DEVICE_TYPE_DEFAULT;
  if (type != CL_DEVICE_TYPE_ALL && (!type || type & ~known)) return CL_INVALID_DEVICE_TYPE;
  if ((!room_for && found) || (!found && !count)) return CL_INVALID_VALUE;
  if (count) *count = 0;
  if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) || !is_there()) return CL_DEVICE_NOT_FOUND;
  if (found) found[0] = (cl_device_id)&the_device;
  if (count) *count = 1;
  return CL_SUCCESS;
}

#define TEXT(what, text) case what: return answer_text(text, size, value, size_ret);
#define NUMBER(what, type, number) case what: { type n = (type)(number); return answer(&n, sizeof n, size, value, size_ret); }
#define COMPILED(there, otherwise) (facts.has_compiler ? (there) : (otherwise))
#define IMAGES(n) (facts.has_images ? (n) : 0)

static cl_int answer_numbers(cl_uint what, size_t size, void *value, size_t *size_ret) {
  switch (what) {
    NUMBER(CL_DEVICE_TYPE, cl_bitfield, CL_DEVICE_TYPE_GPU)
    NUMBER(CL_DEVICE_VENDOR_ID, cl_uint, VENDOR_ID)
    NUMBER(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, facts.compute_units)
    NUMBER(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint, MOST_DIMS)
    NUMBER(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, facts.max_group)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, cl_uint, 16)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, cl_uint, 8)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, cl_uint, 4)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, cl_uint, 1)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, cl_uint, 1)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, cl_uint, facts.has_fp64)
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, cl_uint, 8)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, cl_uint, 16)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, cl_uint, 8)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, cl_uint, 4)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, cl_uint, 1)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, 1)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, facts.has_fp64)
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, 8)
    NUMBER(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, facts.clock_mhz)
    NUMBER(CL_DEVICE_ADDRESS_BITS, cl_uint, 64)
    NUMBER(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong, facts.most_bytes)
    NUMBER(CL_DEVICE_IMAGE_SUPPORT, cl_bool, facts.has_images)
    NUMBER(CL_DEVICE_MAX_READ_IMAGE_ARGS, cl_uint, IMAGES(128))
    NUMBER(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, cl_uint, IMAGES(128))
    NUMBER(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, cl_uint, IMAGES(128))
    NUMBER(CL_DEVICE_IMAGE2D_MAX_WIDTH, size_t, IMAGES(16384))
    NUMBER(CL_DEVICE_IMAGE2D_MAX_HEIGHT, size_t, IMAGES(16384))
    NUMBER(CL_DEVICE_IMAGE3D_MAX_WIDTH, size_t, IMAGES(2048))
    NUMBER(CL_DEVICE_IMAGE3D_MAX_HEIGHT, size_t, IMAGES(2048))
    NUMBER(CL_DEVICE_IMAGE3D_MAX_DEPTH, size_t, IMAGES(2048))
    NUMBER(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, size_t, IMAGES(65536))
    NUMBER(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, size_t, IMAGES(2048))
    NUMBER(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, cl_uint, IMAGES(IMAGE_ALIGNMENT))
    NUMBER(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, cl_uint, IMAGES(IMAGE_ALIGNMENT))
    NUMBER(CL_DEVICE_MAX_SAMPLERS, cl_uint, IMAGES(16))
    NUMBER(CL_DEVICE_MAX_PARAMETER_SIZE, size_t, 2048)
    NUMBER(CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint, 1024)
    NUMBER(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, cl_uint, 128)
    NUMBER(CL_DEVICE_SINGLE_FP_CONFIG, cl_bitfield, CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA | CL_FP_DENORM)
    NUMBER(CL_DEVICE_HALF_FP_CONFIG, cl_bitfield, CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA | CL_FP_DENORM)
    NUMBER(CL_DEVICE_DOUBLE_FP_CONFIG, cl_bitfield, facts.has_fp64 ? CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA | CL_FP_DENORM : 0)
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cl_uint, CL_READ_WRITE_CACHE)
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint, 64)
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong, 512 << 10)
    NUMBER(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, facts.memory_bytes)
    NUMBER(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, facts.most_bytes)
    NUMBER(CL_DEVICE_MAX_CONSTANT_ARGS, cl_uint, 8)
    NUMBER(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size_t, 65536)
    NUMBER(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size_t, facts.most_bytes)
    NUMBER(CL_DEVICE_LOCAL_MEM_TYPE, cl_uint, CL_LOCAL)
    NUMBER(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong, facts.slm_bytes)
    NUMBER(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, CL_FALSE)
    NUMBER(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 1)
    NUMBER(CL_DEVICE_ENDIAN_LITTLE, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_AVAILABLE, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_COMPILER_AVAILABLE, cl_bool, facts.has_compiler)
    NUMBER(CL_DEVICE_LINKER_AVAILABLE, cl_bool, facts.has_compiler)
    NUMBER(CL_DEVICE_EXECUTION_CAPABILITIES, cl_bitfield, CL_EXEC_KERNEL)
    NUMBER(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, cl_bitfield, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
    NUMBER(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, cl_bitfield, 0)
    NUMBER(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, cl_uint, 0)
    NUMBER(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, cl_uint, 0)
    NUMBER(CL_DEVICE_MAX_ON_DEVICE_QUEUES, cl_uint, 0)
    NUMBER(CL_DEVICE_MAX_ON_DEVICE_EVENTS, cl_uint, 0)
    NUMBER(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, cl_bitfield, 0)
    NUMBER(CL_DEVICE_PIPE_SUPPORT, cl_bool, CL_FALSE)
    NUMBER(CL_DEVICE_MAX_PIPE_ARGS, cl_uint, 0)
    NUMBER(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, cl_uint, 0)
    NUMBER(CL_DEVICE_PIPE_MAX_PACKET_SIZE, cl_uint, 0)
    NUMBER(CL_DEVICE_REFERENCE_COUNT, cl_uint, 1)
    NUMBER(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint, 0)
    NUMBER(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, cl_bitfield, 0)
    NUMBER(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, PRINTF_BYTES)
    NUMBER(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, cl_uint, 64)
    NUMBER(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, cl_uint, 64)
    NUMBER(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, cl_uint, 64)
    NUMBER(CL_DEVICE_SVM_CAPABILITIES, cl_bitfield, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER)
    NUMBER(CL_DEVICE_MAX_NUM_SUB_GROUPS, cl_uint, facts.max_group / facts.least_simd)
    NUMBER(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, cl_bool, CL_TRUE)
    NUMBER(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t, 32)
    NUMBER(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, cl_bitfield, CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE)
    NUMBER(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, cl_bitfield, CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE)
    NUMBER(CL_DEVICE_NUMERIC_VERSION, cl_uint, VERSION(3, 0, 0))
    NUMBER(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR, cl_uint, COMPILED(VERSION(1, 2, 0), 0))
    NUMBER(CL_DEVICE_IP_VERSION_INTEL, cl_uint, facts.ip_version)
    NUMBER(CL_DEVICE_ID_INTEL, cl_uint, facts.device_id)
    NUMBER(CL_DEVICE_NUM_SLICES_INTEL, cl_uint, facts.slices)
    NUMBER(CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL, cl_uint, facts.subslices / facts.slices)
    NUMBER(CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL, cl_uint, facts.eus)
    NUMBER(CL_DEVICE_NUM_THREADS_PER_EU_INTEL, cl_uint, facts.threads)
    NUMBER(CL_DEVICE_FEATURE_CAPABILITIES_INTEL, cl_bitfield, facts.products)
    NUMBER(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, cl_bitfield, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL)
    NUMBER(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, cl_bitfield, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL)
    NUMBER(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, cl_bitfield, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL)
    NUMBER(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, cl_bitfield, 0)
    NUMBER(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL, cl_bitfield, 0)
  }
  return CL_INVALID_VALUE;
}

static cl_int answer_lists(cl_uint what, size_t size, void *value, size_t *size_ret) {
  void *platform = &the_platform, *none = 0;
  size_t sizes[MOST_DIMS] = {facts.max_group, facts.max_group, facts.max_group}, simds[3], simd_count = 0;
  cl_ulong no_partition = 0;
  static const cl_name_version c_versions[] = {
      {VERSION(1, 0, 0), "OpenCL C"}, {VERSION(1, 1, 0), "OpenCL C"}, {VERSION(1, 2, 0), "OpenCL C"}, {VERSION(3, 0, 0), "OpenCL C"}};
  static const cl_name_version ils[] = {{VERSION(1, 0, 0), "SPIR-V"}, {VERSION(1, 1, 0), "SPIR-V"}, {VERSION(1, 2, 0), "SPIR-V"}};
  for (size_t simd = facts.least_simd; simd <= 32; simd *= 2) simds[simd_count++] = simd;
  switch (what) {
    case CL_DEVICE_PLATFORM: return answer(&platform, sizeof platform, size, value, size_ret);
    case CL_DEVICE_PARENT_DEVICE: return answer(&none, sizeof none, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return answer(sizes, sizeof sizes, size, value, size_ret);
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL: return answer(simds, simd_count * sizeof *simds, size, value, size_ret);
    case CL_DEVICE_PARTITION_PROPERTIES:
    case CL_DEVICE_PARTITION_TYPE: return answer(&no_partition, sizeof no_partition, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS: return answer(c_versions, COMPILED(sizeof c_versions, 0), size, value, size_ret);
    case CL_DEVICE_OPENCL_C_FEATURES: return answer_versions(facts.features, VERSION(3, 0, 0), size, value, size_ret);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: return answer_versions(facts.extensions, VERSION(1, 0, 0), size, value, size_ret);
    case CL_DEVICE_ILS_WITH_VERSION: return answer(ils, COMPILED(sizeof ils, 0), size, value, size_ret);
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: return answer(0, 0, size, value, size_ret);
    TEXT(CL_DEVICE_NAME, facts.name)
    TEXT(CL_DEVICE_VENDOR, "Intel(R) Corporation")
    TEXT(CL_DRIVER_VERSION, facts.version)
    TEXT(CL_DEVICE_PROFILE, COMPILED("FULL_PROFILE", "EMBEDDED_PROFILE")) /* the full one has a compiler */
    TEXT(CL_DEVICE_VERSION, "OpenCL 3.0 eumu")
    TEXT(CL_DEVICE_OPENCL_C_VERSION, COMPILED("OpenCL C 1.2 ", ""))
    TEXT(CL_DEVICE_EXTENSIONS, facts.extensions)
    TEXT(CL_DEVICE_BUILT_IN_KERNELS, "")
    TEXT(CL_DEVICE_IL_VERSION, COMPILED("SPIR-V_1.0 SPIR-V_1.1 SPIR-V_1.2 ", ""))
    TEXT(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, "v0000-01-01-00") /* none; the form is the one that is wanted */
  }
  return answer_numbers(what, size, value, size_ret);
}

/* Sums of products of octets: packed ones and vectors, each by an instruction of its own. */
static cl_int answer_dot_products(cl_uint what, size_t size, void *value, size_t *size_ret) {
  cl_bitfield forms = CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR | CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR;
  static const cl_bool all[6] = {CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE}; /* of any signs, added with saturation or without */
  if (!strstr(facts.extensions, DOT_PRODUCTS)) return CL_INVALID_VALUE;
  return what == CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR ? answer(&forms, sizeof forms, size, value, size_ret) : answer(all, sizeof all, size, value, size_ret);
}

/* Atomic operations of floats: halves have no sums, and doubles may not be there. */
static cl_int answer_float_atomics(cl_uint what, size_t size, void *value, size_t *size_ret) {
  cl_bitfield choices = CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT | CL_DEVICE_LOCAL_FP_ATOMIC_MIN_MAX_EXT;
  cl_bitfield sums = CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT | CL_DEVICE_LOCAL_FP_ATOMIC_ADD_EXT;
  cl_bitfield moves = CL_DEVICE_GLOBAL_FP_ATOMIC_LOAD_STORE_EXT | CL_DEVICE_LOCAL_FP_ATOMIC_LOAD_STORE_EXT;
  cl_bitfield all = what == CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT ? choices : choices | sums | moves;
  if (!strstr(facts.extensions, FLOAT_ATOMICS)) return CL_INVALID_VALUE;
  if (what == CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT && !facts.has_fp64) all = 0;
  return answer(&all, sizeof all, size, value, size_ret);
}

ENTRY cl_int clGetDeviceInfo(cl_device_id device, cl_uint what, size_t size, void *value, size_t *size_ret) {
  if (!is_object(device, DEVICE)) return CL_INVALID_DEVICE;
  if (what >= CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR && what <= CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR) return answer_dot_products(what, size, value, size_ret);
  if (what >= CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT && what <= CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT) return answer_float_atomics(what, size, value, size_ret);
  return answer_lists(what, size, value, size_ret);
}

ENTRY cl_int clRetainDevice(cl_device_id d) { return is_object(d, DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE; }
ENTRY cl_int clReleaseDevice(cl_device_id d) { return is_object(d, DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE; }

ENTRY cl_int clCreateSubDevices(cl_device_id d, const cl_context_properties *how, cl_uint room_for, cl_device_id *found, cl_uint *count) {
  (void)how, (void)room_for, (void)found, (void)count;
  return is_object(d, DEVICE) ? refused(CL_INVALID_VALUE, "the device cannot be divided") : CL_INVALID_DEVICE;
}

ENTRY cl_int clGetDeviceAndHostTimer(cl_device_id d, cl_ulong *device, cl_ulong *host) {
  if (!is_object(d, DEVICE)) return CL_INVALID_DEVICE;
  if (!device || !host) return CL_INVALID_VALUE;
  *device = *host = now_ns();
  return CL_SUCCESS;
}

ENTRY cl_int clGetHostTimer(cl_device_id d, cl_ulong *host) {
  if (!is_object(d, DEVICE)) return CL_INVALID_DEVICE;
  if (!host) return CL_INVALID_VALUE;
  *host = now_ns();
  return CL_SUCCESS;
}

ENTRY cl_int clSetDefaultDeviceCommandQueue(cl_context c, cl_device_id d, cl_command_queue q) {
  (void)d, (void)q;
  return is_object(c, CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT;
}

/* ---- contexts */

static cl_int check_properties(const cl_context_properties *list, size_t *count) {
  size_t n = 0;
  for (; list && list[n]; n += 2) {
    for (size_t k = 0; k < n; k += 2)
      if (list[k] == list[n]) return refused(CL_INVALID_PROPERTY, "property %#llx is there twice", (unsigned long long)list[n]);
    if (list[n] == CL_CONTEXT_PLATFORM) {
      if (!is_object((void *)list[n + 1], PLATFORM)) return CL_INVALID_PLATFORM;
    } else if (list[n] != CL_CONTEXT_INTEROP_USER_SYNC) return refused(CL_INVALID_PROPERTY, "%#llx is no property of contexts", (unsigned long long)list[n]);
  }
  *count = list ? n + 1 : 0;
  return CL_SUCCESS;
}

ENTRY cl_context clCreateContext(const cl_context_properties *list, cl_uint number, const cl_device_id *devices, void (*call)(const char *, const void *, size_t, void *), void *user, cl_int *error) {
  size_t count = 0;
  cl_int wrong = check_properties(list, &count);
  if (!wrong && (!devices || !number)) wrong = refused(CL_INVALID_VALUE, "there is no list of devices, or it has none");
  if (!wrong && !call && user) wrong = refused(CL_INVALID_VALUE, "there is data for a function to call, and no function");
  for (cl_uint k = 0; !wrong && k < number; k++)
    if (!is_object(devices[k], DEVICE)) wrong = CL_INVALID_DEVICE;
  if (!wrong && !is_there()) wrong = CL_DEVICE_NOT_AVAILABLE;
  if (error) *error = wrong;
  if (wrong) return 0;
  struct Context *c = make(CONTEXT, sizeof *c);
  c->generation = generation;
  c->property_count = count;
  c->properties = room(count * sizeof *list);
  if (count) memcpy(c->properties, list, count * sizeof *list);
  return (cl_context)c;
}

ENTRY cl_context clCreateContextFromType(const cl_context_properties *list, cl_bitfield type, void (*call)(const char *, const void *, size_t, void *), void *user, cl_int *error) {
  cl_device_id device;
  size_t count;
  cl_int wrong = check_properties(list, &count);
  if (!wrong) wrong = clGetDeviceIDs(0, type, 1, &device, 0);
  if (error) *error = wrong;
  return wrong ? 0 : clCreateContext(list, 1, &device, call, user, error);
}

ENTRY cl_int clGetContextInfo(cl_context context, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Context *c = (void *)context;
  if (!is_object(c, CONTEXT)) return CL_INVALID_CONTEXT;
  void *device = &the_device;
  cl_uint one = 1;
  switch (what) {
    case CL_CONTEXT_REFERENCE_COUNT: return answer(&c->base.refs, sizeof c->base.refs, size, value, size_ret);
    case CL_CONTEXT_NUM_DEVICES: return answer(&one, sizeof one, size, value, size_ret);
    case CL_CONTEXT_DEVICES: return answer(&device, sizeof device, size, value, size_ret);
    case CL_CONTEXT_PROPERTIES:
      return answer(c->properties, c->property_count * sizeof *c->properties, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clSetContextDestructorCallback(cl_context context, void (*call)(cl_context, void *), void *user) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  if (!call) return refused(CL_INVALID_VALUE, "there is no function to call");
  return add_callback(&((struct Context *)context)->destructors, (Notify)call, 0, user);
}

ENTRY cl_int clRetainContext(cl_context c) { return retain(c, CONTEXT, CL_INVALID_CONTEXT); }
ENTRY cl_int clReleaseContext(cl_context c) { return release(c, CONTEXT, CL_INVALID_CONTEXT); }
