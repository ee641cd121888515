"""The engine's side in Python: compiling, launching, faults."""
