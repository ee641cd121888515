"""Pictures of a run: a trace for Chrome or Perfetto, and one page that says how it went."""
