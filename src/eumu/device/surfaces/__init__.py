"""Surfaces: formats of texels, and where they lie in memory."""
