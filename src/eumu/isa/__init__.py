"""Instruction sets: one declaration per instruction; everything else follows from it."""
