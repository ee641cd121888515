"""Random vISA kernels: the same for a seed, a device and a SIMD size wherever they are made.

They are valid, do only what the documents define, and stay in memory that they have, so whatever
runs them must come to the same end.
"""
