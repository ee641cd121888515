"""The NumPy interpreter: slow, clear, and the definition of what the IR means.

It runs a batch of whole thread groups in lockstep, with one NumPy call per operation for all
threads that are at the same block.
"""

from eumu.exec.interp.engine import Interpreter

__all__ = ["Interpreter"]
