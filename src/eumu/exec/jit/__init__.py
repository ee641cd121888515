"""The fast engine: IR to machine code through LLVM, groups on every core."""

from eumu.exec.jit.host.engine import Jit

__all__ = ["Jit"]
