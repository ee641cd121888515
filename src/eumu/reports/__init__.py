"""Pictures of a run: a trace for Chrome or Perfetto, and one page that says how it went."""

from eumu.reports.page import page
from eumu.reports.trace import trace

__all__ = ["page", "trace"]
