"""What a kernel becomes: the forms that it can be shown in.  The command line knows them, too."""

from __future__ import annotations

from typing import Final

FORMS: Final = ("ir", "llvm", "asm")  # eumu's, the text that LLVM gets, a processor's instructions
