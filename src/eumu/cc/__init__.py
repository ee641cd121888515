"""The libraries in C that programs load: compiled when a wheel is built, or at first use."""
