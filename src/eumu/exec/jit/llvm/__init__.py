"""LLVM text, and the memory that it shares with the engine."""
