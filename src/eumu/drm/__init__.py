"""A virtual Intel GPU under Intel's own driver: what answers for the kernel driver i915.

The preloaded library `shim.c` knows handles and pages, the engine process (`engine`) runs what is
submitted on eumu's command streamer and engines.
"""
