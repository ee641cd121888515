/* The files by which Mesa's Vulkan driver for Intel GPUs (anv) and libdrm find a GPU, and those where
 * Intel's compute driver reads its clock.
 *
 * They are in a small tree beside the engine's socket, which `session.py` makes.  Who has not loaded
 * Mesa's driver finds nothing below /dev/dri and /sys/dev/char/226: Intel's compute driver opens the
 * node by its name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim.h"

#define EXPORT __attribute__((visibility("default")))
#define DIRECTORY "/dev/dri"
#define NODE DIRECTORY "/renderD128"
#define DEVICES "/sys/dev/char/226:"
#define CLOCKS "/sys/bus/pci/devices/0000:00:02.0/drm"
#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int is_vulkan(void) {
  static int is_known;
  if (is_known) return 1;
  void *driver = dlopen("libvulkan_intel.so", RTLD_LAZY | RTLD_NOLOAD);
  if (driver) dlclose(driver), is_known = 1;
  return is_known;
}

static int is_below(const char *path, const char *start) { return path && !strncmp(path, start, strlen(start)); }

/* Where a path leads: itself, a place in the tree, or 0 if it is not to be found. */
static const char *lead(const char *path, char *room) {
  const char *socket = getenv("EUMU_DRM_SOCKET"), *end = socket ? strrchr(socket, '/') : 0;
  int is_clock = is_below(path, CLOCKS);
  if (!end || !(is_clock || is_below(path, DIRECTORY "/") || is_below(path, DEVICES) || (path && !strcmp(path, DIRECTORY)))) return path;
  if (!is_clock && !is_vulkan()) return is_below(path, DIRECTORY) ? 0 : path;
  if (snprintf(room, PATH_MAX, "%.*s/tree%s", (int)(end - socket), socket, path) >= PATH_MAX) return 0;
  return room;
}

#define LEAD(path, otherwise) \
  char room_[PATH_MAX]; \
  const int is_node_ = path && !strcmp(path, NODE); \
  (void)is_node_; \
  path = lead(path, room_); \
  if (!path) { errno = ENOENT; return otherwise; }
#define AS_NODE(s) (s)->st_mode = S_IFCHR | 0666, (s)->st_rdev = makedev(226, 128)

EXPORT int stat(const char *path, struct stat *s) { REAL(stat); LEAD(path, -1) int r = real(path, s); if (!r && is_node_) AS_NODE(s); return r; }
EXPORT int lstat(const char *path, struct stat *s) { REAL(lstat); LEAD(path, -1) int r = real(path, s); if (!r && is_node_) AS_NODE(s); return r; }
EXPORT int stat64(const char *path, struct stat64 *s) { REAL(stat64); LEAD(path, -1) int r = real(path, s); if (!r && is_node_) AS_NODE(s); return r; }
EXPORT int lstat64(const char *path, struct stat64 *s) { REAL(lstat64); LEAD(path, -1) int r = real(path, s); if (!r && is_node_) AS_NODE(s); return r; }
EXPORT int fstat(int fd, struct stat *s) { REAL(fstat); int r = real(fd, s); if (!r && is_vulkan_node(fd)) AS_NODE(s); return r; }
EXPORT int fstat64(int fd, struct stat64 *s) { REAL(fstat64); int r = real(fd, s); if (!r && is_vulkan_node(fd)) AS_NODE(s); return r; }
EXPORT int access(const char *path, int mode) { REAL(access); LEAD(path, -1) return real(path, mode); }
EXPORT ssize_t readlink(const char *path, char *to, size_t size) { REAL(readlink); LEAD(path, -1) return real(path, to, size); }
EXPORT ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room) { return readlink(path, to, size < room ? size : room); }
EXPORT char *realpath(const char *path, char *to) { REAL(realpath); LEAD(path, 0) return real(path, to); }
EXPORT char *__realpath_chk(const char *path, char *to, size_t room) { (void)room; return realpath(path, to); }
EXPORT FILE *fopen(const char *path, const char *mode) { REAL(fopen); LEAD(path, 0) return real(path, mode); }
EXPORT FILE *fopen64(const char *path, const char *mode) { REAL(fopen64); LEAD(path, 0) return real(path, mode); }
EXPORT DIR *opendir(const char *path) { REAL(opendir); LEAD(path, 0) return real(path); }
