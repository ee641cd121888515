"""Reports of a run: a trace for Chrome or Perfetto, and a page with its statistics."""
