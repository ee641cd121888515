"""Compiled answers to messages, for the fast engine; NumPy elsewhere in `device` defines them."""
