"""What the driver's library says that OpenCL is, held against the public headers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import eumu.cl
from cl.programs import vendors

SHIM = Path(eumu.cl.__file__).parent / "shim"
HEADERS = Path("/usr/include/CL")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux")


def test_numbers_are_those_of_the_headers(tmp_path: Path) -> None:
    if not (HEADERS / "cl.h").exists():
        pytest.skip("no OpenCL headers (Debian: apt-get install opencl-c-headers)")
    text = (SHIM / "opencl.h").read_text()
    numbers = dict(re.findall(r"^#define (CL_\w+) (\S+)$", text, re.M))
    assert len(numbers) > 300
    later = {name for name in numbers if "_FP_ATOMIC_" in name}  # than Debian's headers
    lines = [
        f"#if {int(name not in later)} || defined {name}\n"
        f"_Static_assert(({name}) == ({value}), #name);\n#endif"
        for name, value in numbers.items()
    ]
    source = tmp_path / "numbers.c"
    head = "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl.h>\n#include <CL/cl_ext.h>\n"
    source.write_text(head + "\n".join(lines).replace("#name", '"number"'))
    done = subprocess.run(["cc", "-w", "-fsyntax-only", source], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_the_table_has_the_order_of_the_loader() -> None:
    if not (HEADERS / "cl_icd.h").exists():
        pytest.skip("no headers of the loader (Debian: apt-get install opencl-c-headers)")
    ask = "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl_icd.h>\n"
    done = subprocess.run(
        ["cc", "-E", "-P", "-x", "c", "-"], input=ask, capture_output=True, text=True
    )
    body = re.search(r"struct _cl_icd_dispatch\s*\{(.*?)\}", done.stdout, re.S)
    assert body is not None
    slots = [slot.strip() for slot in body[1].split(";") if slot.strip()]
    names = [re.findall(r"\*\s*(cl\w+)\s*\)|(\w+)$", slot)[0] for slot in slots]
    table = (SHIM / "icd.c").read_text().split("dispatch[] =")[1].split("};")[0]
    made = re.findall(r"\(void \*\)(\w+)", table)
    assert len(names) == len(made) == 149
    for (pointer, last), entry in zip(names, made, strict=True):
        name = pointer or last
        assert entry in (name, name.removesuffix("EXT"), "absent") or entry.startswith("no_object")


def test_only_the_loaders_names_are_exported() -> None:
    library = Path(vendors()) / "libeumu_cl.so"
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert names == {
        "clIcdGetPlatformIDsKHR",
        "clGetPlatformInfo",
        "clGetExtensionFunctionAddress",
    }
