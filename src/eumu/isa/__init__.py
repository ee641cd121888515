"""Instruction sets: one declaration per instruction, and what is derived from it."""
