"""Random vISA kernels: a seed, a device and a SIMD size always give the same kernel.

The kernels are valid, use only defined behaviour, and access only their own memory, so every
implementation must give the same result.
"""
