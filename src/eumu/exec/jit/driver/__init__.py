"""Scheduling of lanes, threads and groups, as LLVM text."""
