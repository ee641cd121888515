"""Compiled answers to messages, for the fast engine; equations and checks are the model's."""
