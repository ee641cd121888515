/* The frame of a layer below the OpenCL loader (OPENCL_LAYERS): it is given the table of functions
 * of what lies below, and gives one with its own in some places.
 *
 * The table has the order of the ICD's dispatch table, cl_icd.h; constants are those of cl.h and
 * cl_layer.h.  The including file defines LAYER, the layer's name, before.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { FUNCTIONS = 160, INVALID_VALUE = -30, API_VERSION = 0x4240, LAYER_NAME = 0x4241, API_VERSION_100 = 100 };
struct Replacement { int place; void *function; };

static void *next[FUNCTIONS], *ours[FUNCTIONS]; /* of what lies below, and of the layer */

EXPORT int32_t clGetLayerInfo(uint32_t name, size_t room, void *value, size_t *size) {
  static const char title[] = LAYER;
  const uint32_t version = API_VERSION_100;
  const void *found = name == API_VERSION ? (const void *)&version : title;
  size_t bytes = name == API_VERSION ? sizeof version : sizeof title;
  if ((name != API_VERSION && name != LAYER_NAME) || (value && room < bytes)) return INVALID_VALUE;
  if (value) memcpy(value, found, bytes);
  if (size) *size = bytes;
  return 0;
}

/* What clInitLayer does, with so many functions in place of those below. */
static int32_t put_between(uint32_t count, void *const *target, uint32_t *own_count, void *const **own, const struct Replacement *rows, size_t many) {
  if (!target || !own_count || !own) return INVALID_VALUE;
  uint32_t used = count < FUNCTIONS ? count : FUNCTIONS;
  memcpy(next, target, used * sizeof *next);
  memcpy(ours, next, sizeof ours);
  for (size_t k = 0; k < many; k++)
    if (next[rows[k].place]) ours[rows[k].place] = rows[k].function;
  *own_count = used;
  *own = ours;
  return 0;
}

/* Loaders of 2025 and later ask for these two; what they say in `properties` changes nothing here. */
EXPORT int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *own_count, void *const **own);

EXPORT int32_t clInitLayerWithProperties(uint32_t count, void *const *target, uint32_t *own_count, void *const **own, const uint64_t *properties) {
  (void)properties;
  return clInitLayer(count, target, own_count, own);
}

EXPORT int32_t clDeinitLayer(void) { return 0; } /* the process ends */
