"""eumu's own OpenCL driver: a library that the OpenCL loader opens, and its engine process.

The library `shim` is C and lives in the program: objects, queues and events.  The engine process
(`engine`) has the device: it builds programs and runs kernels.  All of device memory is shared.
"""
