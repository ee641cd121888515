"""Random kernels in OpenCL C, by seed.

What the language leaves undefined does not occur, by construction: arithmetic that could overflow
is done on unsigned types, shifts and indices are masked, divisors are never zero, every variable
has a value before it is read, work items meet at barriers outside of what they may not all reach,
and what they share has one writer or operations whose order does not matter.  Floats are whole
numbers that their type holds exactly.  So a kernel has one result, whoever compiles and runs it.
"""
