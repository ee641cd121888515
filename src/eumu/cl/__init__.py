"""eumu's own OpenCL driver: a library for the OpenCL loader, and its engine process.

The library `shim` is C code in the host program: objects, queues and events.  The engine process
(`engine`) has the device: it builds programs and runs kernels.  They share all device memory.
"""
