"""State objects of the sampler and the data port: bits to named fields and back."""
