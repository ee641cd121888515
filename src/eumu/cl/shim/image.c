/* Images: rows of texels in device memory, whose state the engine process has. */
#include "driver.h"

struct Code { cl_uint code, bytes; };
static const struct Code types[] = { /* of one channel; packed types are of all */
    {CL_SNORM_INT8, 1}, {CL_SNORM_INT16, 2}, {CL_UNORM_INT8, 1}, {CL_UNORM_INT16, 2},
    {CL_SIGNED_INT8, 1}, {CL_SIGNED_INT16, 2}, {CL_SIGNED_INT32, 4}, {CL_UNSIGNED_INT8, 1},
    {CL_UNSIGNED_INT16, 2}, {CL_UNSIGNED_INT32, 4}, {CL_HALF_FLOAT, 2}, {CL_FLOAT, 4}};

/* Types of channels, a bit for each of the table above. */
#define EVERY 0xfffu
#define OCTETS (1u << 2)
#define SHORTS (1u << 3)
#define REALS (OCTETS | SHORTS | 1u << 10 | 1u << 11)
#define DEPTHS (SHORTS | 1u << 11)

/* Orders of channels, and of which types images of them are read and written. */
static const struct Order { cl_uint code, channels, reads, writes; } orders[] = {
    {CL_R, 1, EVERY, EVERY}, {CL_RG, 2, EVERY, EVERY}, {CL_RGBA, 4, EVERY, EVERY},
    {CL_BGRA, 4, OCTETS, OCTETS}, {CL_sRGBA, 4, OCTETS, 0}, {CL_sBGRA, 4, OCTETS, 0},
    {CL_A, 1, REALS, OCTETS}, {CL_INTENSITY, 1, REALS, 0}, {CL_LUMINANCE, 1, REALS, 0},
    {CL_DEPTH, 1, DEPTHS, DEPTHS}};

static const struct Order *order_of(cl_uint order) {
  for (size_t k = 0; k < COUNT(orders); k++)
    if (orders[k].code == order) return &orders[k];
  return 0;
}

static cl_uint channels_of(cl_uint order) {
  const struct Order *known = order_of(order);
  return known ? known->channels : 0;
}

static cl_uint bytes_of(cl_uint type) {
  for (size_t k = 0; k < COUNT(types); k++)
    if (types[k].code == type) return types[k].bytes;
  return 0;
}

static int is_normal(cl_uint type) { return type == CL_SNORM_INT8 || type == CL_SNORM_INT16 || type == CL_UNORM_INT8 || type == CL_UNORM_INT16; }

/* Whether images of a shape, an order and a type can be made that kernels use as the flags say. */
static int is_supported(cl_uint shape, cl_uint order, cl_uint type, cl_bitfield flags) {
  const struct Order *known = order_of(order);
  int is_flat = shape == CL_MEM_OBJECT_IMAGE2D || shape == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  if (!known || (order == CL_DEPTH && !is_flat)) return 0;
  int writes = !(flags & CL_MEM_READ_ONLY) || flags & CL_MEM_KERNEL_READ_AND_WRITE;
  cl_uint able = writes ? known->writes : known->reads;
  for (size_t k = 0; k < COUNT(types); k++)
    if (types[k].code == type) return able >> k & 1;
  return 0;
}

ENTRY cl_int clGetSupportedImageFormats(cl_context context, cl_bitfield flags, cl_uint type, cl_uint room_for, cl_image_format *found, cl_uint *count) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  cl_bitfield access = flags & ACCESS;
  if (flags & ~(ACCESS | HOST_ACCESS | HOST_MEMORY | CL_MEM_KERNEL_READ_AND_WRITE) || access & (access - 1)) return refused(CL_INVALID_VALUE, "flags %#llx are none of an image", (unsigned long long)flags);
  if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER) return refused(CL_INVALID_VALUE, "%#x is no type of images", type);
  if (!room_for && found) return refused(CL_INVALID_VALUE, "there is a place for formats, with room for none");
  cl_uint n = 0;
  for (size_t o = 0; facts.has_images && o < COUNT(orders); o++)
    for (size_t k = 0; k < COUNT(types); k++) {
      if (!is_supported(type, orders[o].code, types[k].code, flags)) continue;
      if (found && n < room_for) found[n] = (cl_image_format){orders[o].code, types[k].code};
      n++;
    }
  if (count) *count = n;
  return CL_SUCCESS;
}

static int layers_of(cl_uint type) { return type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE1D_ARRAY; }

static cl_int check_shape(const cl_image_desc *d) {
  int dims = d->image_type == CL_MEM_OBJECT_IMAGE3D ? 3 : d->image_type == CL_MEM_OBJECT_IMAGE2D || d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? 2 : 1;
  size_t most = dims == 3 ? 2048 : 16384;
  if (d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) most = 65536;
  if (!d->image_width || d->image_width > most) return CL_INVALID_IMAGE_SIZE;
  if (dims > 1 && (!d->image_height || d->image_height > most)) return CL_INVALID_IMAGE_SIZE;
  if (dims > 2 && (!d->image_depth || d->image_depth > most)) return CL_INVALID_IMAGE_SIZE;
  if (layers_of(d->image_type) && (!d->image_array_size || d->image_array_size > 2048)) return CL_INVALID_IMAGE_SIZE;
  return d->num_mip_levels || d->num_samples ? CL_INVALID_IMAGE_DESCRIPTOR : CL_SUCCESS;
}

/* Programs leave what their kind of image has not as it is in memory. */
static cl_image_desc with_own_sizes(const cl_image_desc *given) {
  cl_image_desc d = *given;
  int has_height = d.image_type == CL_MEM_OBJECT_IMAGE2D || d.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY || d.image_type == CL_MEM_OBJECT_IMAGE3D;
  if (!has_height) d.image_height = 0;
  if (d.image_type != CL_MEM_OBJECT_IMAGE3D) d.image_depth = 0;
  if (!layers_of(d.image_type)) d.image_array_size = 0;
  return d;
}

/* Distances of the program's memory, or a buffer, that are 0 follow from the shape. */
static cl_int complete(cl_image_desc *d, size_t texel, int has_rows) {
  size_t row = d->image_width * texel;
  if (!has_rows && (d->image_row_pitch || d->image_slice_pitch)) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (!d->image_row_pitch) d->image_row_pitch = row;
  if (d->image_row_pitch < row || d->image_row_pitch % texel) return CL_INVALID_IMAGE_DESCRIPTOR;
  size_t slice = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? d->image_row_pitch : d->image_row_pitch * d->image_height;
  int has_slices = d->image_type == CL_MEM_OBJECT_IMAGE3D || layers_of(d->image_type);
  if (has_slices && !d->image_slice_pitch) d->image_slice_pitch = slice;
  if (d->image_row_pitch > facts.most_bytes || d->image_slice_pitch > facts.most_bytes) return CL_INVALID_IMAGE_DESCRIPTOR;
  return has_slices && d->image_slice_pitch < slice ? CL_INVALID_IMAGE_DESCRIPTOR : CL_SUCCESS;
}

static size_t rows_of(const cl_image_desc *d) { return d->image_height ? d->image_height : 1; }

static size_t slices_of(const cl_image_desc *d) { return d->image_depth ? d->image_depth : d->image_array_size ? d->image_array_size : 1; }

/* Whether the program's memory for an image is of one allocation, if it is device memory. */
static cl_int check_host(const cl_image_desc *d, size_t texel, const void *host) {
  size_t size = (slices_of(d) - 1) * d->image_slice_pitch + (rows_of(d) - 1) * d->image_row_pitch + d->image_width * texel;
  return host && check_bytes(host, size) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

/* Ask the engine for the image; what it has of it goes into the object. */
static cl_int make_in_engine(struct Memory *m) {
  struct Message message = {0};
  struct Reply r = {0};
  const cl_image_desc *d = &m->shape;
  put64(&message, m->base.number);
  put32(&message, m->format.image_channel_order), put32(&message, m->format.image_channel_data_type);
  put32(&message, m->type - CL_MEM_OBJECT_IMAGE2D);
  put64(&message, d->image_width), put64(&message, d->image_height);
  put64(&message, d->image_depth), put64(&message, d->image_array_size);
  put64(&message, m->parent ? (uintptr_t)m->parent->data : 0);
  put64(&message, m->parent ? d->image_row_pitch : 0);
  cl_int status = ask(IMAGE, &message, &r);
  m->image = take64(&r), m->data = (char *)take64(&r), m->size = take64(&r);
  m->rows = take64(&r), m->slices = take64(&r);
  if (!status && r.is_broken) status = CL_OUT_OF_RESOURCES;
  free(r.data);
  return status;
}

static cl_int check_image(cl_context context, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *shape, const void *host) {
  if (!is_object(context, CONTEXT)) return CL_INVALID_CONTEXT;
  cl_int wrong = check_flags(flags, host);
  if (wrong) return wrong;
  if (!facts.has_images) return refused(CL_INVALID_OPERATION, "the device has no images");
  if (!format) return refused(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "the format is null");
  cl_uint order = format->image_channel_order, kind = format->image_channel_data_type;
  if (order < CL_R || order > CL_ABGR || kind < CL_SNORM_INT8 || kind > CL_UNORM_INT_101010_2) return refused(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "channels of order %#x and type %#x", order, kind);
  if (!shape || shape->image_type < CL_MEM_OBJECT_IMAGE2D || shape->image_type > CL_MEM_OBJECT_IMAGE1D_BUFFER) return refused(CL_INVALID_IMAGE_DESCRIPTOR, "there is no description, or its type %#x is of no image", shape ? shape->image_type : 0);
  if (!is_supported(shape->image_type, order, kind, flags)) return refused(CL_IMAGE_FORMAT_NOT_SUPPORTED, "channels of order %#x and type %#x in an image of type %#x with flags %#llx", order, kind, shape->image_type, (unsigned long long)flags);
  wrong = check_shape(shape);
  if (wrong) return refused(wrong, "an image of %zu x %zu x %zu and %zu layers, %u levels and %u samples", shape->image_width, shape->image_height, shape->image_depth, shape->image_array_size, shape->num_mip_levels, shape->num_samples);
  struct Memory *of = (void *)shape->mem_object;
  if (!of) return shape->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? refused(CL_INVALID_IMAGE_DESCRIPTOR, "an image in a buffer, and no buffer") : CL_SUCCESS;
  if (!is_object(of, MEMORY)) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (of->type != CL_MEM_OBJECT_BUFFER) return refused(CL_INVALID_IMAGE_DESCRIPTOR, "an image in what is no buffer");
  if (shape->image_type != CL_MEM_OBJECT_IMAGE1D_BUFFER && shape->image_type != CL_MEM_OBJECT_IMAGE2D) return refused(CL_INVALID_IMAGE_DESCRIPTOR, "type %#x of an image in a buffer; there are lines and rows", shape->image_type);
  if (host || flags & HOST_MEMORY) return refused(CL_INVALID_VALUE, "an image in a buffer has no memory of the program's");
  return is_narrower(of->flags, flags) ? CL_SUCCESS : refused(CL_INVALID_VALUE, "the flags allow what those of buffer #%llu do not", (unsigned long long)of->base.number);
}

/* Whether the image lies in its buffer, in rows as they may be. */
static cl_int check_in_buffer(const struct Memory *of, const cl_image_desc *d, size_t texel) {
  if (d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) return d->image_width * texel > of->size ? CL_INVALID_IMAGE_SIZE : CL_SUCCESS;
  if (d->image_row_pitch % (IMAGE_ALIGNMENT * texel)) return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  return d->image_row_pitch * (d->image_height - 1) + d->image_width * texel > of->size ? CL_INVALID_IMAGE_SIZE : CL_SUCCESS;
}

ENTRY cl_mem clCreateImageWithProperties(cl_context context, const cl_ulong *list, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *shape, void *host, cl_int *error) {
  struct Memory *m = 0;
  cl_int wrong = list && list[0] ? refused(CL_INVALID_PROPERTY, "%#llx is no property of images", (unsigned long long)list[0]) : check_image(context, flags, format, shape, host);
  size_t texel = wrong ? 0 : channels_of(format->image_channel_order) * bytes_of(format->image_channel_data_type);
  cl_image_desc whole = {0};
  if (!wrong) {
    whole = with_own_sizes(shape);
    wrong = complete(&whole, texel, host || shape->mem_object);
    if (wrong) because("pitches of %zu and %zu bytes for texels of %zu", shape->image_row_pitch, shape->image_slice_pitch, texel);
  }
  if (!wrong && shape->mem_object) wrong = check_in_buffer((void *)shape->mem_object, &whole, texel);
  if (!wrong) wrong = check_host(&whole, texel, host);
  if (!wrong) {
    m = new_memory((void *)context, shape->image_type, flags, 0);
    m->property_count = list ? 1 : 0;
    m->format = *format, m->shape = whole, m->texel = texel;
    if (flags & CL_MEM_USE_HOST_PTR) m->host = host;
    use(m->parent = (void *)shape->mem_object);
    if (m->parent) m->flags = inherited(m->parent->flags, flags), m->host = m->parent->host;
    wrong = make_in_engine(m);
    m->owns = !wrong;
    if (wrong) clReleaseMemObject((cl_mem)m), m = 0;
  }
  if (m && host) {
    for (size_t z = 0; z < slices_of(&whole); z++)
      for (size_t y = 0; y < rows_of(&whole); y++)
        memcpy(m->data + z * m->slices + y * m->rows, (char *)host + z * m->shape.image_slice_pitch + y * m->shape.image_row_pitch, m->shape.image_width * texel);
  }
  if (error) *error = wrong;
  return (cl_mem)m;
}

ENTRY cl_mem clCreateImage(cl_context context, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *shape, void *host, cl_int *error) {
  return clCreateImageWithProperties(context, 0, flags, format, shape, host, error);
}

ENTRY cl_mem clCreateImage2D(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height, size_t rows, void *host, cl_int *error) {
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height, .image_row_pitch = rows};
  return clCreateImageWithProperties(context, 0, flags, format, &shape, host, error);
}

ENTRY cl_mem clCreateImage3D(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height, size_t depth, size_t rows, size_t slices, void *host, cl_int *error) {
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = width, .image_height = height, .image_depth = depth, .image_row_pitch = rows, .image_slice_pitch = slices};
  return clCreateImageWithProperties(context, 0, flags, format, &shape, host, error);
}

ENTRY cl_int clGetImageInfo(cl_mem image, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Memory *m = (void *)image;
  if (!is_object(m, MEMORY)) return CL_INVALID_MEM_OBJECT;
  if (m->type == CL_MEM_OBJECT_BUFFER) return refused(CL_INVALID_MEM_OBJECT, "buffer #%llu is no image", (unsigned long long)m->base.number);
  const cl_image_desc *d = &m->shape;
  cl_uint none = 0;
  void *buffer = m->parent;
  int is_flat = m->type == CL_MEM_OBJECT_IMAGE1D || m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY || m->type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
  size_t height = is_flat ? 0 : d->image_height, depth = m->type == CL_MEM_OBJECT_IMAGE3D ? d->image_depth : 0;
  size_t layers = layers_of(m->type) ? d->image_array_size : 0;
  switch (what) {
    case CL_IMAGE_FORMAT: return answer(&m->format, sizeof m->format, size, value, size_ret);
    case CL_IMAGE_ELEMENT_SIZE: return answer(&m->texel, sizeof m->texel, size, value, size_ret);
    case CL_IMAGE_ROW_PITCH: return answer(&d->image_row_pitch, sizeof d->image_row_pitch, size, value, size_ret);
    case CL_IMAGE_SLICE_PITCH: return answer(&d->image_slice_pitch, sizeof d->image_slice_pitch, size, value, size_ret);
    case CL_IMAGE_WIDTH: return answer(&d->image_width, sizeof d->image_width, size, value, size_ret);
    case CL_IMAGE_HEIGHT: return answer(&height, sizeof height, size, value, size_ret);
    case CL_IMAGE_DEPTH: return answer(&depth, sizeof depth, size, value, size_ret);
    case CL_IMAGE_ARRAY_SIZE: return answer(&layers, sizeof layers, size, value, size_ret);
    case CL_IMAGE_BUFFER: return answer(&buffer, sizeof buffer, size, value, size_ret);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES: return answer(&none, sizeof none, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

/* ---- boxes of texels */

cl_int check_box(const struct Memory *m, const size_t *origin, const size_t *region) {
  char name[160];
  if (!origin || !region) return refused(CL_INVALID_VALUE, "the origin or the region is null");
  size_t most[3] = {m->shape.image_width, 1, 1};
  if (m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) most[1] = m->shape.image_array_size;
  if (m->type == CL_MEM_OBJECT_IMAGE2D || m->type == CL_MEM_OBJECT_IMAGE2D_ARRAY || m->type == CL_MEM_OBJECT_IMAGE3D) most[1] = m->shape.image_height;
  if (m->type == CL_MEM_OBJECT_IMAGE2D_ARRAY) most[2] = m->shape.image_array_size;
  if (m->type == CL_MEM_OBJECT_IMAGE3D) most[2] = m->shape.image_depth;
  for (int k = 0; k < 3; k++)
    if (!region[k] || origin[k] > most[k] || region[k] > most[k] - origin[k]) return refused(CL_INVALID_VALUE, "%zu from %zu on in dimension %d of %s, which has %zu there", region[k], origin[k], k, name_of(&m->base, name, sizeof name), most[k]);
  return CL_SUCCESS;
}

struct Box box_of(const struct Memory *m, const size_t *origin, const size_t *region) {
  int is_row_array = m->type == CL_MEM_OBJECT_IMAGE1D_ARRAY; /* whose layers are slices */
  struct Box box = {.bytes = region[0] * m->texel, .rows = region[1], .slices = region[2], .y = origin[1], .z = origin[2]};
  if (is_row_array) box.rows = 1, box.slices = region[1], box.y = 0, box.z = origin[1];
  box.start = m->data + box.z * m->slices + box.y * m->rows + origin[0] * m->texel;
  return box;
}

/* An integer as a channel has it: the nearest one that it can have. */
static cl_uint saturated(cl_uint type, cl_uint value) {
  cl_uint bits = 8 * bytes_of(type);
  if (bits == 32) return value;
  int is_signed = type == CL_SIGNED_INT8 || type == CL_SIGNED_INT16;
  int64_t least = is_signed ? -(1ll << (bits - 1)) : 0, most = least + (1ll << bits) - 1;
  int64_t number = is_signed ? (cl_int)value : (int64_t)value;
  return number < least ? least : number > most ? most : number;
}

/* The bytes of a texel of one color: four floats, or integers, as its format says. */
cl_int texel_of(const struct Memory *m, const void *color, char *texel) {
  cl_uint order = m->format.image_channel_order, type = m->format.image_channel_data_type;
  if (is_normal(type) || type == CL_HALF_FLOAT) { /* conversions are the engine's */
    struct Message message = {0};
    struct Reply r = {0};
    put32(&message, order), put32(&message, type);
    float given[4] = {0};
    memcpy(given, color, order == CL_DEPTH ? sizeof *given : sizeof given);
    put_bytes(&message, given, sizeof given);
    cl_int status = ask(TEXEL, &message, &r);
    size_t size;
    char *bytes = take_bytes(&r, &size);
    if (!status && size != m->texel) status = CL_OUT_OF_RESOURCES;
    if (!status) memcpy(texel, bytes, size);
    free(bytes), free(r.data);
    return status;
  }
  cl_uint bytes = bytes_of(type);
  for (cl_uint k = 0; k < channels_of(order); k++) {
    cl_uint value;
    memcpy(&value, (const char *)color + 4 * (order == CL_A ? 3 : k), 4);
    if (type != CL_FLOAT) value = saturated(type, value);
    memcpy(texel + k * bytes, &value, bytes);
  }
  return CL_SUCCESS;
}
