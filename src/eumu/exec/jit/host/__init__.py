"""The Python side of the fast engine: compiling, launching, faults."""
