/* What the render node, the layer for OpenCL and the window of pages have of each other. */
#include <stddef.h>
#include <stdint.h>

/* The objects that this thread makes until `end_noting` are for `size` bytes of the program. */
void begin_noting(void);
void end_noting(size_t size);

/* Tell the engine process of a program that was built; what is too large is left out. */
void send_program(const void *source, size_t source_size, const void *binary, size_t binary_size);

/* Whether the program has loaded Mesa's Vulkan driver, and whether a descriptor is its node. */
int is_vulkan(void);
int is_vulkan_node(int fd);

/* Until `close_window` who writes to these pages, which the caller makes read-only, waits. */
void open_window(uint64_t at, uint64_t size);
void close_window(void);
