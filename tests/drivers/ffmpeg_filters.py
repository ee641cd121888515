"""ffmpeg's filters for OpenCL on the virtual GPU, against PoCL, an implementation for CPUs.

    python tests/drivers/ffmpeg_filters.py --log FILE

Each filter runs on two frames of the test picture, in a process of its own, on both; no byte of the
frames may differ by more than one step of 255.  Debian has both: `ffmpeg`, `pocl-opencl-icd`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

POCL = Path("/etc/OpenCL/vendors/pocl.icd")
# By name: the pixels' format, and the filters between upload and download.  Of a `-` in front of
# the format the second input is the same picture, mirrored.
FILTERS = {
    "avgblur": ("yuv420p", "avgblur_opencl=3"),
    "boxblur": ("yuv420p", "boxblur_opencl=luma_radius=2:luma_power=2"),
    "colorkey": ("rgba", "colorkey_opencl=red:0.4:0.1"),
    "convolution": ("yuv420p", "convolution_opencl=0 -1 0 -1 5 -1 0 -1 0"),
    "dilation": ("yuv420p", "dilation_opencl=coordinates=231"),
    "erosion": ("yuv420p", "erosion_opencl=threshold1=30"),
    "nlmeans": ("yuv420p", "nlmeans_opencl=s=4:p=5:r=9"),
    "overlay": ("-yuv420p", "overlay_opencl=20:16"),
    "pad": ("yuv420p", "pad_opencl=200:160:10:20:red"),
    "prewitt": ("yuv420p", "prewitt_opencl=scale=2:delta=5"),
    "roberts": ("yuv420p", "roberts_opencl"),
    "sobel": ("yuv420p", "sobel_opencl"),
    "transpose": ("yuv420p", "transpose_opencl=1"),
    "unsharp": ("yuv420p", "unsharp_opencl=5:5:1.5"),
    "xfade": ("-yuv420p", "xfade_opencl=transition=wipeleft:duration=1:offset=0"),
}
SOURCE = "testsrc=size=160x120:rate=2:duration=1"


def words(form: str, filters: str) -> list[str]:
    """A call of ffmpeg that writes raw frames to standard output."""
    pixels = form.removeprefix("-")
    up, down = f"format={pixels},hwupload", f"hwdownload,format={pixels}"
    graph = f"[0]{up}[a];[a]{filters},{down}"
    inputs = ["-f", "lavfi", "-i", SOURCE]
    if form.startswith("-"):
        inputs += ["-f", "lavfi", "-i", f"{SOURCE},hflip"]
        graph = f"[0]{up}[a];[1]{up}[b];[a][b]{filters},{down}"
    device = ["-init_hw_device", "opencl=one:0.0", "-filter_hw_device", "one"]
    return [
        *("ffmpeg", "-v", "error", "-nostdin", *device, *inputs),
        *("-filter_complex", graph, "-f", "rawvideo", "-"),
    ]


def frames(command: list[str], vendor: Path | None, timeout: float) -> tuple[bytes, str]:
    """What a call writes, and why it failed."""
    environment = dict(os.environ)
    if vendor is not None:
        environment["OCL_ICD_VENDORS"] = str(vendor)
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return b"", "out of time"
    lines = done.stderr.decode(errors="replace").strip().splitlines() or [""]
    return done.stdout, lines[-1] if done.returncode else ""


def outcome(name: str, options: list[str], timeout: float) -> tuple[str, str]:
    """What became of a filter, and why."""
    command = words(*FILTERS[name])
    wanted, why = frames(command, POCL, timeout)
    if why or not wanted:
        return "without a witness", f"PoCL: {why}"
    own = [sys.executable, "-m", "eumu", "gpu", *options, "--", *command]
    got, why = frames(own, None, timeout)
    if why or len(got) != len(wanted):
        return "failed", why or f"{len(got)} bytes, not {len(wanted)}"
    steps = [abs(a - b) for a, b in zip(got, wanted, strict=True)]
    text = f"{len(got)} bytes, {sum(s > 0 for s in steps)} of them differ, by {max(steps)} at most"
    return "right" if max(steps) <= 1 and any(got) else "wrong", text


def main() -> int:
    parser = argparse.ArgumentParser(description="ffmpeg's OpenCL filters on the virtual GPU.")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--timeout", type=float, default=300, help="of a call")
    parser.add_argument("options", nargs="*", help="of eumu gpu")
    given = parser.parse_args()
    if shutil.which("ffmpeg") is None or not POCL.exists():
        print("skipped: ffmpeg or PoCL is missing (apt-get install ffmpeg pocl-opencl-icd)")
        return 0
    counts: Counter[str] = Counter()
    for name in FILTERS:
        what, why = outcome(name, given.options, given.timeout)
        counts[what] += 1
        with given.log.open("a") as file:
            file.write(f"{name}\t{what}\t{why}\n")
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return int(counts.total() > counts["right"] + counts["without a witness"])


if __name__ == "__main__":
    sys.exit(main())
