"""A virtual Intel GPU under Intel's own driver: it takes the place of the kernel driver i915.

The preloaded library `shim.c` manages handles and pages.  The engine process (`engine`) runs the
submitted batches on eumu's command streamer and engines.
"""
