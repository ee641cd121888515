"""Analyses of a function before code generation."""
