"""The command `eumu`.

Only the parser of the command line is loaded at once; a command loads what it needs when it runs,
so that `eumu --help` does not wait for NumPy and LLVM.
"""

from eumu.cli.main import entry, main

__all__ = ["entry", "main"]
