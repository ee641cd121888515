"""Syntax highlighting of vISA text: one table of words, a Pygments lexer and a TextMate grammar."""
