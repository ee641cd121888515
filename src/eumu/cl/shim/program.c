/* Programs: built by the engine process, which has Intel's compiler. */
#include "driver.h"

enum { BUILD_ALL, COMPILE, LINK, LINK_LIBRARY };  /* what is wanted, as protocol.py has them */
enum { OF_SOURCE, OF_IL, OF_BINARY, OF_OBJECTS }; /* what of */

void free_built(struct Built *b) {
  if (!b) return;
  pthread_mutex_lock(&state);
  int is_last = !--b->uses;
  pthread_mutex_unlock(&state);
  if (!is_last) return;
  if (b->number && b->generation == generation) {
    struct Message m = {0};
    put32(&m, b->number);
    ask(DROP, &m, 0);
  }
  for (uint32_t k = 0; k < b->count; k++) {
    struct Entry *e = &b->entries[k];
    for (uint32_t j = 0; j < e->count; j++) free(e->parameters[j].type), free(e->parameters[j].name);
    free(e->parameters), free(e->name), free(e->attributes);
  }
  free(b->entries);
  free(b);
}

void free_program(struct Program *p) {
  call_back(&p->callbacks, p);
  free_built(p->built);
  free(p->source), free(p->il), free(p->specialized), free(p->given), free(p->binary), free(p->options), free(p->log);
  unuse(p->context);
}

static struct Program *new_program(cl_context context) {
  struct Program *p = make(PROGRAM, sizeof *p);
  use(p->context = (struct Context *)context);
  p->status = CL_BUILD_NONE;
  p->options = copied(""), p->log = copied("");
  return p;
}

/* ---- making programs */

ENTRY cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error) {
  cl_int wrong = is_object(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
  if (!wrong && (!count || !texts)) wrong = refused(CL_INVALID_VALUE, "there is no source");
  size_t total = 0;
  for (cl_uint k = 0; !wrong && k < count; k++) {
    if (!texts[k]) wrong = refused(CL_INVALID_VALUE, "text %u of %u is null", k, count);
    else total += lengths && lengths[k] ? lengths[k] : strlen(texts[k]);
  }
  if (error) *error = wrong;
  if (wrong) return 0;
  struct Program *p = new_program(context);
  p->source = room(total + 1);
  for (size_t k = 0, at = 0; k < count; k++) {
    size_t n = lengths && lengths[k] ? lengths[k] : strlen(texts[k]);
    memcpy(p->source + at, texts[k], n);
    at += n;
  }
  return (cl_program)p;
}

ENTRY cl_program clCreateProgramWithIL(cl_context context, const void *il, size_t size, cl_int *error) {
  cl_int wrong = is_object(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
  uint32_t magic = 0;
  if (!wrong && !facts.has_compiler) wrong = refused(CL_INVALID_OPERATION, "no compiler for the device is installed, which SPIR-V needs");
  if (!wrong && (!il || size < 20)) wrong = refused(CL_INVALID_VALUE, "%zu bytes are no SPIR-V", il ? size : 0);
  if (!wrong) {
    memcpy(&magic, il, 4);
    if (magic != 0x07230203 && magic != 0x03022307) wrong = refused(CL_INVALID_VALUE, "SPIR-V does not begin with %#x", magic);
  }
  if (error) *error = wrong;
  if (wrong) return 0;
  struct Program *p = new_program(context);
  p->il = memcpy(room(size), il, size);
  p->il_bytes = size;
  return (cl_program)p;
}

static cl_int request(struct Program *p, uint32_t wanted, uint32_t form, const char *options, struct Message *parts, uint32_t count);

ENTRY cl_program clCreateProgramWithBinary(cl_context context, cl_uint number, const cl_device_id *devices, const size_t *sizes, const unsigned char **binaries, cl_int *status, cl_int *error) {
  cl_int wrong = is_object(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
  if (!wrong && (number != 1 || !devices || !sizes || !binaries)) wrong = refused(CL_INVALID_VALUE, "a list is null, or is not for the one device");
  if (!wrong && !is_object(devices[0], DEVICE)) wrong = CL_INVALID_DEVICE;
  if (!wrong && (!sizes[0] || !binaries[0])) wrong = refused(CL_INVALID_VALUE, "the binary has no byte");
  struct Program *p = 0;
  if (!wrong) {
    p = new_program(context);
    p->given = memcpy(room(sizes[0]), binaries[0], p->given_bytes = sizes[0]);
    struct Message parts = {0};
    put_bytes(&parts, "", 0);
    put_bytes(&parts, p->given, p->given_bytes);
    if (request(p, BUILD_ALL, OF_BINARY, "", &parts, 1)) wrong = refused(CL_INVALID_BINARY, "it is nothing that this driver has made for this device");
    p->status = CL_BUILD_NONE;
  }
  if (status) *status = wrong == CL_INVALID_BINARY ? wrong : wrong ? CL_INVALID_VALUE : CL_SUCCESS;
  if (error) *error = wrong;
  if (wrong && p) { clReleaseProgram((cl_program)p); p = 0; }
  return (cl_program)p;
}

ENTRY cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint number, const cl_device_id *devices, const char *names, cl_int *error) {
  (void)number, (void)devices, (void)names;
  if (error) *error = is_object(context, CONTEXT) ? refused(CL_INVALID_VALUE, "the device has no kernels of its own") : CL_INVALID_CONTEXT;
  return 0;
}

ENTRY cl_int clRetainProgram(cl_program p) { return retain(p, PROGRAM, CL_INVALID_PROGRAM); }
ENTRY cl_int clReleaseProgram(cl_program p) { return release(p, PROGRAM, CL_INVALID_PROGRAM); }

/* ---- building */

static void read_parameter(struct Reply *r, struct Parameter *p) {
  p->passing = take32(r), p->size = take32(r), p->address = take32(r);
  p->access = take32(r) & 3, p->qualifiers = take32(r), p->has_info = take32(r);
  p->type = take_text(r), p->name = take_text(r);
}

static void read_entry(struct Reply *r, struct Entry *e) {
  e->name = take_text(r), e->attributes = take_text(r);
  e->simd = take32(r), e->required_simd = take32(r), e->slm = take32(r);
  for (int k = 0; k < 3; k++) e->group[k] = take32(r);
  e->private_bytes = take64(r), e->spill_bytes = take64(r);
  uint32_t count = take32(r);
  if (count > r->size / 32) { r->is_broken = 1; return; } /* a parameter has 32 bytes at least */
  e->parameters = room(count * sizeof *e->parameters);
  for (e->count = 0; e->count < count && !r->is_broken; e->count++) read_parameter(r, &e->parameters[e->count]);
}

/* The first error of a build's log. */
static void say_why(const char *log) {
  const char *error = strstr(log, "error:");
  while (error && error > log && error[-1] != '\n') error--;
  const char *line = error ? error : log;
  because("%.*s", (int)strcspn(line, "\n"), line);
}

/* Ask for a build; what comes of it goes into the program. */
static cl_int request(struct Program *p, uint32_t wanted, uint32_t form, const char *options, struct Message *parts, uint32_t count) {
  struct Message m = {0};
  struct Reply r = {0};
  put32(&m, wanted), put32(&m, form);
  put_bytes(&m, options, strlen(options));
  put32(&m, count);
  put_bytes(&m, parts->data, parts->size);
  m.is_broken |= parts->is_broken;
  free(parts->data);
  cl_int status = ask(BUILD, &m, &r);
  free(p->log), free(p->binary);
  p->binary = 0;
  p->log = take_text(&r);
  p->binary = take_bytes(&r, &p->binary_bytes);
  p->binary_type = take32(&r), p->smaller_groups = take32(&r);
  struct Built *b = room(sizeof *b);
  b->uses = 1, b->generation = generation;
  b->number = take32(&r), b->variable_bytes = take32(&r);
  uint32_t entries = take32(&r);
  if (entries > r.size / 64) entries = 0;
  b->entries = room(entries * sizeof *b->entries);
  for (; b->count < entries && !r.is_broken; b->count++) read_entry(&r, &b->entries[b->count]);
  free_built(p->built);
  p->built = b->number ? b : 0;
  if (!b->number) free_built(b);
  if (!status && r.is_broken) status = CL_OUT_OF_HOST_MEMORY;
  free(r.data);
  p->status = status ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
  if (status) say_why(p->log);
  return status;
}

static cl_int check_build(struct Program *p, cl_uint number, const cl_device_id *devices, void *call, void *user) {
  if (!is_object(p, PROGRAM)) return CL_INVALID_PROGRAM;
  if (!call && user) return refused(CL_INVALID_VALUE, "there is data for a function to call, and no function");
  if (!number != !devices) return refused(CL_INVALID_VALUE, "%u devices, and their list is %s", number, devices ? "there" : "null");
  for (cl_uint k = 0; k < number; k++)
    if (!is_object(devices[k], DEVICE)) return CL_INVALID_DEVICE;
  return p->kernels ? refused(CL_INVALID_OPERATION, "program #%llu has kernels: %u", (unsigned long long)p->base.number, p->kernels) : CL_SUCCESS;
}

static void put_source(struct Program *p, struct Message *parts) {
  put_bytes(parts, "", 0);
  if (p->source) put_bytes(parts, p->source, strlen(p->source));
  else put_bytes(parts, p->specialized ? p->specialized : p->il, p->il_bytes);
}

ENTRY cl_int clBuildProgram(cl_program program, cl_uint number, const cl_device_id *devices, const char *options, void (*call)(cl_program, void *), void *user) {
  struct Program *p = (void *)program;
  cl_int wrong = check_build(p, number, devices, call, user);
  if (wrong) return wrong;
  if (p->given && p->binary_type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE) return refused(CL_INVALID_BINARY, "the binary of program #%llu is to be linked", (unsigned long long)p->base.number);
  free(p->options);
  p->options = copied(options ? options : "");
  struct Message parts = {0};
  if (p->given) {
    put_bytes(&parts, "", 0);
    put_bytes(&parts, p->given, p->given_bytes);
    wrong = request(p, BUILD_ALL, OF_BINARY, p->options, &parts, 1);
  } else {
    if (!p->source && !p->il) return refused(CL_INVALID_OPERATION, "program #%llu has neither source nor SPIR-V", (unsigned long long)p->base.number);
    put_source(p, &parts);
    wrong = request(p, BUILD_ALL, p->source ? OF_SOURCE : OF_IL, p->options, &parts, 1);
  }
  if (call) call(program, user);
  return wrong;
}

ENTRY cl_int clCompileProgram(cl_program program, cl_uint number, const cl_device_id *devices, const char *options, cl_uint count, const cl_program *headers, const char **names, void (*call)(cl_program, void *), void *user) {
  struct Program *p = (void *)program;
  cl_int wrong = check_build(p, number, devices, call, user);
  if (!wrong && (!count != !headers || !count != !names)) wrong = refused(CL_INVALID_VALUE, "%u headers, and a list that does not suit that", count);
  if (!wrong && !p->source && !p->il) wrong = refused(CL_INVALID_OPERATION, "program #%llu has neither source nor SPIR-V", (unsigned long long)p->base.number);
  for (cl_uint k = 0; !wrong && k < count; k++)
    if (!is_object(headers[k], PROGRAM)) wrong = CL_INVALID_PROGRAM;
    else if (!names[k]) wrong = refused(CL_INVALID_VALUE, "header %u has no name", k);
    else if (!((struct Program *)headers[k])->source) wrong = refused(CL_INVALID_PROGRAM, "header %u has no source", k);
  if (wrong) return wrong;
  free(p->options);
  p->options = copied(options ? options : "");
  struct Message parts = {0};
  put_source(p, &parts);
  for (cl_uint k = 0; k < count; k++) {
    const char *text = ((struct Program *)headers[k])->source;
    put_bytes(&parts, names[k], strlen(names[k]));
    put_bytes(&parts, text, strlen(text));
  }
  wrong = request(p, COMPILE, p->source ? OF_SOURCE : OF_IL, p->options, &parts, count + 1);
  if (call) call(program, user);
  return wrong;
}

ENTRY cl_program clLinkProgram(cl_context context, cl_uint number, const cl_device_id *devices, const char *options, cl_uint count, const cl_program *inputs, void (*call)(cl_program, void *), void *user, cl_int *error) {
  cl_int wrong = is_object(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
  if (!wrong && (!count || !inputs)) wrong = refused(CL_INVALID_VALUE, "there is no program to link");
  if (!wrong && ((!call && user) || !number != !devices)) wrong = refused(CL_INVALID_VALUE, "a list of devices that does not suit their number, or data without a function to call");
  for (cl_uint k = 0; !wrong && k < number; k++)
    if (!is_object(devices[k], DEVICE)) wrong = CL_INVALID_DEVICE;
  struct Message parts = {0};
  for (cl_uint k = 0; !wrong && k < count; k++) {
    struct Program *p = (void *)inputs[k];
    if (!is_object(p, PROGRAM)) wrong = CL_INVALID_PROGRAM;
    else if (!p->binary || (p->binary_type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT && p->binary_type != CL_PROGRAM_BINARY_TYPE_LIBRARY)) wrong = refused(CL_INVALID_OPERATION, "program #%llu has not been compiled", (unsigned long long)p->base.number);
    else {
      put_bytes(&parts, "", 0);
      put_bytes(&parts, p->binary, p->binary_bytes);
    }
  }
  struct Program *made = 0;
  if (!wrong) {
    made = new_program(context);
    free(made->options);
    made->options = copied(options ? options : "");
    int is_library = strstr(made->options, "-create-library") != 0;
    wrong = request(made, is_library ? LINK_LIBRARY : LINK, OF_OBJECTS, made->options, &parts, count);
    if (call) call((cl_program)made, user);
  } else free(parts.data);
  if (error) *error = wrong;
  return (cl_program)made;
}

ENTRY cl_int clUnloadCompiler(void) { return CL_SUCCESS; }
ENTRY cl_int clUnloadPlatformCompiler(cl_platform_id p) { return is_object(p, PLATFORM) ? CL_SUCCESS : CL_INVALID_PLATFORM; }

ENTRY cl_int clSetProgramReleaseCallback(cl_program p, void (*call)(cl_program, void *), void *user) {
  (void)call, (void)user;
  return is_object(p, PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM; /* no destructors of globals */
}

/* ---- questions */

static char *names_of(const struct Built *b) {
  size_t total = 1;
  for (uint32_t k = 0; b && k < b->count; k++) total += strlen(b->entries[k].name) + 1;
  char *made = room(total);
  for (uint32_t k = 0; b && k < b->count; k++) {
    if (k) strcat(made, ";");
    strcat(made, b->entries[k].name);
  }
  return made;
}

static cl_int not_built(const struct Program *p) { return refused(CL_INVALID_PROGRAM_EXECUTABLE, "program #%llu has not been built", (unsigned long long)p->base.number); }

/* CL_PROGRAM_BINARIES is an array of places to write to. */
static cl_int answer_binary(const struct Program *p, size_t size, void *value, size_t *size_ret) {
  void **places = value;
  if (value && size < sizeof *places) return CL_INVALID_VALUE;
  if (value && places[0] && p->binary) memcpy(places[0], p->binary, p->binary_bytes);
  if (size_ret) *size_ret = sizeof *places;
  return CL_SUCCESS;
}

ENTRY cl_int clGetProgramInfo(cl_program program, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Program *p = (void *)program;
  if (!is_object(p, PROGRAM)) return CL_INVALID_PROGRAM;
  void *device = &the_device;
  cl_uint one = 1;
  cl_bool none = CL_FALSE;
  int is_executable = p->status == CL_BUILD_SUCCESS && p->binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  size_t count = p->built ? p->built->count : 0;
  switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT: return answer(&p->base.refs, sizeof p->base.refs, size, value, size_ret);
    case CL_PROGRAM_CONTEXT: return answer(&p->context, sizeof p->context, size, value, size_ret);
    case CL_PROGRAM_NUM_DEVICES: return answer(&one, sizeof one, size, value, size_ret);
    case CL_PROGRAM_DEVICES: return answer(&device, sizeof device, size, value, size_ret);
    case CL_PROGRAM_SOURCE: return answer_text(p->source, size, value, size_ret);
    case CL_PROGRAM_IL: return answer(p->il, p->il_bytes, size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES: return answer(&p->binary_bytes, sizeof p->binary_bytes, size, value, size_ret);
    case CL_PROGRAM_BINARIES: return answer_binary(p, size, value, size_ret);
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: return answer(&none, sizeof none, size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
      return is_executable ? answer(&count, sizeof count, size, value, size_ret) : not_built(p);
    case CL_PROGRAM_KERNEL_NAMES: {
      if (!is_executable) return not_built(p);
      char *names = names_of(p->built);
      cl_int wrong = answer_text(names, size, value, size_ret);
      free(names);
      return wrong;
    }
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Program *p = (void *)program;
  if (!is_object(p, PROGRAM)) return CL_INVALID_PROGRAM;
  if (!is_object(device, DEVICE)) return CL_INVALID_DEVICE;
  size_t variables = p->built ? p->built->variable_bytes : 0;
  switch (what) {
    case CL_PROGRAM_BUILD_STATUS: return answer(&p->status, sizeof p->status, size, value, size_ret);
    case CL_PROGRAM_BUILD_OPTIONS: return answer_text(p->options, size, value, size_ret);
    case CL_PROGRAM_BUILD_LOG: return answer_text(p->log, size, value, size_ret);
    case CL_PROGRAM_BINARY_TYPE: {
      cl_uint type = p->status == CL_BUILD_ERROR ? CL_PROGRAM_BINARY_TYPE_NONE : p->binary_type;
      return answer(&type, sizeof type, size, value, size_ret);
    }
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: return answer(&variables, sizeof variables, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}
