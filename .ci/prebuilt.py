"""Build hook of the wheel: the libraries that programs load, compiled where it is built."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Prebuilt(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the libraries to a wheel; without a C compiler they are made at first use instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not sys.platform.startswith("linux"):
            return
        found = runpy.run_path(str(Path(self.root, "src/eumu/cc/compile.py")))
        tool = found["compiler"]()
        if tool is None:
            self.app.display_warning("no C compiler: the wheel has no prebuilt libraries")
            return
        self.made = tempfile.TemporaryDirectory()
        for library in found["LIBRARIES"]:
            name = library.prebuilt.name
            target = Path(self.made.name, name)
            wrong = found["compile"](tool, library, target)
            if wrong:
                raise RuntimeError(wrong)
            build_data["force_include"][str(target)] = f"eumu/{library.room}/{name}"
