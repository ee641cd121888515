"""The common-ISA object file (`.isa`), versions 3.4 to 4: reader and writer.

A file has a header, then one object per kernel and function: a pool of strings, tables of
variables, labels, inputs and attributes, and the instructions.  A kernel's object may be followed
by native code for some devices, which is kept and not decoded.  :mod:`eumu.binary.layout` has the
layout of the file; the bytes of an instruction come from its declaration in the registry.
"""

from eumu.binary.layout import PLATFORMS
from eumu.binary.reader import is_object_file, made_for, read
from eumu.binary.writer import write

__all__ = ["PLATFORMS", "is_object_file", "made_for", "read", "write"]
