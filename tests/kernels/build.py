"""Compiles every kernel of the tests and examples for every device with Intel's own compiler.

    python tests/kernels/build.py [NAME ...]

needs `ocloc` (Debian: apt-get install intel-opencl-icd libigc-tools) and rewrites
`bin/<device>/<name>.bin`, `bin/MANIFEST.tsv` (when everything is built) and `examples/*.bin`, and
says which of them changed; `keep_newest.py` does so for the few by the newest compiler.
The ELF files are exactly what the compiler wrote.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
BIN = HERE / "bin"
DEVICES = ("pvc", "skl", "apl")
EXAMPLE_DEVICE = "pvc"
PACKAGES = ("intel-opencl-icd", "libigc1", "libigc-tools")


@dataclass(frozen=True, slots=True)
class Program:
    """One source with its options; `cannot` says per device why there is no binary."""

    name: str
    source: str = ""
    options: str = ""
    cannot: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The OpenCL C file, beside this script or in `examples/`."""
        file = f"{self.source or self.name}.cl"
        return next(p for p in (HERE / file, EXAMPLES / file) if p.exists())

    def elf(self, device: str) -> Path:
        """Where the compiled program for a device lies."""
        return BIN / device / f"{self.name}.bin"


def _integer(name: str, t: str) -> Program:
    return Program(name, "integer_arithmetic", f"-DT={t}")


def _float(name: str, t: str, of_its_size: str, more: str = "") -> Program:
    return Program(name, "float_arithmetic", f"-DT={t} -DINT={of_its_size}{more}")


EXAMPLE_PROGRAMS = tuple(map(Program, ("saxpy", "sgemm", "nbody", "out_of_bounds")))
PROGRAMS = (
    *EXAMPLE_PROGRAMS,
    Program("mandelbrot"),
    Program("reduce"),
    Program("histogram"),
    Program("atomics"),
    Program("transpose"),
    Program("scan"),
    Program("black_scholes"),
    Program("convolve3x3"),
    Program("bitonic_sort"),
    _integer("arithmetic_char", "char"),
    _integer("arithmetic_uchar", "uchar"),
    _integer("arithmetic_short", "short"),
    _integer("arithmetic_ushort", "ushort"),
    _integer("arithmetic_int", "int"),
    _integer("arithmetic_uint", "uint"),
    _integer("arithmetic_long", "long"),
    _integer("arithmetic_ulong", "ulong"),
    _float("arithmetic_half", "half", "short"),
    _float("arithmetic_float", "float", "int"),
    _float("arithmetic_double", "double", "long"),
    _float("arithmetic_float_exact", "float", "int", " -cl-fp32-correctly-rounded-divide-sqrt"),
    Program("convert"),
    Program("convert_half"),
    Program("convert_double"),
    Program("math_functions"),
    Program("switch_case"),
    Program("control_flow"),
    Program("call_noinline"),
    Program("struct_argument"),
    Program("private_array"),
    Program("empty"),
    Program("print_values"),
    Program("vector_arguments"),
    Program("local_pointers"),
    Program("constant_table"),
    Program("work_items"),
    Program("endless"),
    Program("divergent_barrier"),
    Program("asm_simd16_in_simd32"),
    Program("wavefront"),
)


def command(program: Program, device: str, source: Path) -> list[str]:
    """The compiler's command line; the ELF appears as `out/<name>`."""
    return [
        *("ocloc", "compile", "-q", "-file", str(source), "-device", device),
        *("-output_no_suffix", "-output", program.name, "-out_dir", "out", "--format", "zebin"),
        *(("-options", program.options) if program.options else ()),
        *("-internal_options", "-ze-emit-zebin-visa-sections"),
    ]


def build(program: Program, device: str) -> str:
    """Compiles one program; returns the compiler's complaint, or an empty string."""
    # The compiler also leaves a `kernel.visaasm` in its working directory.
    with tempfile.TemporaryDirectory() as work:
        line = command(program, device, program.path)
        run = subprocess.run(line, cwd=work, capture_output=True, text=True)
        elf = Path(work, "out", program.name)
        if run.returncode != 0 or not elf.exists():
            return (run.stdout + run.stderr).strip() or f"exit status {run.returncode}"
        program.elf(device).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(elf, program.elf(device))
    return ""


def compiler_version() -> str:
    """The Debian packages that hold the compiler, with their versions."""
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}; ", *PACKAGES]
    run = subprocess.run(query, capture_output=True, text=True, check=False)
    return run.stdout.strip("; ") or "unknown"


def manifest(skipped: list[tuple[str, str, str]]) -> str:
    """A table of every file: its source with checksum, and the command that made it."""
    lines = [f"# compiler: {compiler_version()}", "# file\tsource\tsource sha256\tcommand"]
    for device in DEVICES:
        for program in PROGRAMS:
            if device not in program.cannot:
                digest = hashlib.sha256(program.path.read_bytes()).hexdigest()[:16]
                file = program.elf(device).relative_to(BIN)
                source = program.path.relative_to(HERE.parents[1])
                line = shlex.join(command(program, device, source))
                lines.append(f"{file}\t{source}\t{digest}\t{line}")
    lines += [f"# {device}/{name}: not built: {why}" for device, name, why in skipped]
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> int:
    """Builds the named programs, or all; returns the number of those that failed."""
    if shutil.which("ocloc") is None:
        print("ocloc is not installed; on Debian: apt-get install intel-opencl-icd libigc-tools")
        return 2
    unknown = set(names) - {p.name for p in PROGRAMS}
    if unknown:
        print(f"no such program: {', '.join(sorted(unknown))}")
        return 2
    failed, skipped = 0, []
    for program in PROGRAMS:
        if names and program.name not in names:
            continue
        for device in DEVICES:
            if device in program.cannot:
                skipped.append((device, program.name, program.cannot[device]))
                print(f"{device}/{program.name}: not built: {program.cannot[device]}")
                continue
            elf = program.elf(device)
            before = elf.read_bytes() if elf.exists() else b""
            if complaint := build(program, device):
                failed += 1
                print(f"{device}/{program.name}: FAILED\n{complaint}")
            else:
                said = "unchanged" if elf.read_bytes() == before else "changed"
                print(f"{device}/{program.name}: {elf.stat().st_size} bytes, {said}")
    for program in EXAMPLE_PROGRAMS:
        shutil.copyfile(program.elf(EXAMPLE_DEVICE), EXAMPLES / f"{program.name}.bin")
    if not names and not failed:
        (BIN / "MANIFEST.tsv").write_text(manifest(skipped))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
