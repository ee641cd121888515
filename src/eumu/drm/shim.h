/* What the layer for OpenCL asks of the render node. */
#include <stddef.h>

/* The objects that this thread makes until `end_noting` are for `size` bytes of the program. */
void begin_noting(void);
void end_noting(size_t size);

/* Tell the engine process of a program that was built; what is too large is left out. */
void send_program(const void *source, size_t source_size, const void *binary, size_t binary_size);
