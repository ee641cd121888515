"""The order in which lanes, threads and groups run, as LLVM text."""
