"""Build hook of the wheel: the library that `eumu gpu` preloads, compiled where it is built."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Prebuilt(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the library to a wheel; without a C compiler it is compiled at first use instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not sys.platform.startswith("linux"):
            return
        found = runpy.run_path(str(Path(self.root, "src/eumu/drm/compile.py")))
        tool = found["compiler"]()
        if tool is None:
            self.app.display_warning("no C compiler: the wheel has no prebuilt library")
            return
        name = found["PREBUILT"].name
        self.made = tempfile.TemporaryDirectory()
        target = Path(self.made.name, name)
        wrong = found["compile"](tool, target)
        if wrong:
            raise RuntimeError(wrong)
        build_data["force_include"][str(target)] = f"eumu/drm/{name}"
