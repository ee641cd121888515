"""Compiles the image kernels of these tests with Intel's own compiler.

    python tests/images/image_programs.py

needs `ocloc` and rewrites `bin/<device>/<name>.bin`.
"""

from __future__ import annotations

from pathlib import Path

from eumu.zebin import ocloc

HERE = Path(__file__).resolve().parent
DEVICES = ("skl", "apl")
_EXTENSIONS = "-cl-ext=" + ",".join(
    f"+{name}"
    for name in (
        "cl_khr_gl_msaa_sharing",
        "cl_khr_mipmap_image",
        "__opencl_c_images",
        "__opencl_c_3d_image_writes",
        "__opencl_c_read_write_images",
    )
)
# Name of the source -> options of the program, options for the compiler's own header.
PROGRAMS = {
    "sampled": ("-cl-std=CL2.0", ""),
    "plain": ("-cl-std=CL2.0", ""),
    "mipmaps": ("-cl-std=CL3.0", _EXTENSIONS),
    "samples": ("-cl-std=CL3.0", _EXTENSIONS),
}


def elf(name: str, device: str) -> Path:
    """Where a compiled program lies."""
    return HERE / "bin" / device / f"{name}.bin"


def main() -> None:
    """Compile everything."""
    for name, (options, internal) in PROGRAMS.items():
        for device in DEVICES:
            source = (HERE / f"{name}.cl").read_text()
            built = ocloc.compile(source, device, options, internal, name=f"{name}.cl")
            elf(name, device).parent.mkdir(parents=True, exist_ok=True)
            elf(name, device).write_bytes(built.elf)


if __name__ == "__main__":
    main()
