/* Specialization constants: literals of SPIR-V that the program replaces before it builds. */
#include "driver.h"

enum { TYPE_INT = 21, TYPE_FLOAT = 22, SPECIAL_TRUE = 48, SPECIAL_FALSE = 49, SPECIAL = 50, DECORATE = 71 };
enum { HEADER = 5, SPEC_ID = 1 }; /* words of a module's header; the decoration with a constant's number */

struct Words { uint32_t *first; size_t count; };

/* The next instruction of an operation whose word number `place` is `value`, from `at` on; the
 * program's bytes may be anything. */
static uint32_t *next(struct Words w, size_t *at, uint32_t operation, uint32_t place, uint32_t value) {
  while (*at < w.count) {
    uint32_t *found = w.first + *at, length = *found >> 16;
    if (!length || length > w.count - *at) return 0;
    *at += length;
    if ((*found & 0xFFFF) == operation && length > place && found[place] == value) return found;
  }
  return 0;
}

static uint32_t *find(struct Words w, uint32_t operation, uint32_t place, uint32_t value) {
  size_t at = HEADER;
  return next(w, &at, operation, place, value);
}

static cl_int wrong_size(uint32_t bits, size_t size) { return refused(CL_INVALID_VALUE, "the constant has %u bits; the value has %zu bytes", bits, size); }

/* Replace the value of the constant that an instruction with this result makes. */
static cl_int replace(struct Words w, uint32_t result, size_t size, const void *value) {
  uint32_t *made = find(w, SPECIAL_TRUE, 2, result);
  if (!made) made = find(w, SPECIAL_FALSE, 2, result);
  if (made) {
    if (size != 1) return wrong_size(8, size);
    *made = (*made & 0xFFFF0000) | (*(const uint8_t *)value ? SPECIAL_TRUE : SPECIAL_FALSE);
    return CL_SUCCESS;
  }
  made = find(w, SPECIAL, 2, result);
  if (!made) return CL_INVALID_SPEC_ID;
  uint32_t *type = find(w, TYPE_INT, 1, made[1]), is_signed = 0;
  if (type && *type >> 16 == 4) is_signed = type[3];
  else type = find(w, TYPE_FLOAT, 1, made[1]);
  if (!type || *type >> 16 < 3) return CL_INVALID_SPEC_ID;
  uint32_t bits = type[2];
  if (size > 8 || 8 * size != bits) return wrong_size(bits, size);
  if (*made >> 16 != (bits > 32 ? 5 : 4)) return CL_INVALID_SPEC_ID;
  uint64_t number = 0;
  memcpy(&number, value, size);
  if (is_signed) number = (uint64_t)((int64_t)(number << (64 - bits)) >> (64 - bits));
  memcpy(made + 3, &number, bits > 32 ? 8 : 4);
  return CL_SUCCESS;
}

ENTRY cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size, const void *value) {
  struct Program *p = (void *)program;
  if (!is_object(p, PROGRAM)) return CL_INVALID_PROGRAM;
  if (!p->il) return refused(CL_INVALID_PROGRAM, "program #%llu is not of SPIR-V", (unsigned long long)p->base.number);
  if (!size || !value) return refused(CL_INVALID_VALUE, "there is no value");
  if (!p->specialized) p->specialized = memcpy(room(p->il_bytes), p->il, p->il_bytes);
  struct Words w = {p->specialized, p->il_bytes / 4};
  cl_int wrong = refused(CL_INVALID_SPEC_ID, "program #%llu has no constant %u", (unsigned long long)p->base.number, id);
  size_t at = HEADER;
  for (uint32_t *named; (named = next(w, &at, DECORATE, 3, id));) {
    if (named[2] != SPEC_ID) continue;
    wrong = replace(w, named[1], size, value);
    if (wrong) break;
  }
  return wrong;
}
