"""The 3D sampler: addressing, filtering and its messages, in NumPy."""
