"""Random kernels in OpenCL C, by seed.

They contain no undefined behaviour, by construction: arithmetic that could overflow uses unsigned
types, shifts and indices are masked, divisors are never zero, every variable has a value before it
is read, barriers are where all work items reach them, and shared memory has one writer or
operations whose order does not matter.  Floats are whole numbers that their type holds exactly.  So
a kernel has one result, whichever compiler and implementation runs it.
"""
