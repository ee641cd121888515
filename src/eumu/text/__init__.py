"""vISA text: parser and printer.

Both follow the templates in the registry; neither has code for single instructions.
"""

from eumu.text.instruction import UNMODELLED
from eumu.text.layout import format_text
from eumu.text.parser import Statement, parse, parse_statements, parse_with_diagnostics
from eumu.text.printer import (
    print_declaration,
    print_instruction,
    print_item,
    print_kernel,
    print_module,
)

__all__ = [
    "UNMODELLED",
    "Statement",
    "format_text",
    "parse",
    "parse_statements",
    "parse_with_diagnostics",
    "print_declaration",
    "print_instruction",
    "print_item",
    "print_kernel",
    "print_module",
]
