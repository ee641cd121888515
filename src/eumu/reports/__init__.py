"""Pictures of a run: a trace for Chrome or Perfetto, and one page that says how it went."""

from eumu.reports.page import l3_words, no_model, page
from eumu.reports.trace import trace

__all__ = ["l3_words", "no_model", "page", "trace"]
