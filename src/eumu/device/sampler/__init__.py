"""The 3D sampler: the equations of addressing and filtering, and its messages in NumPy."""
