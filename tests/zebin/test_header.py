"""The compiler's header on a device without images: it is helped, and it fails once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eumu import zebin
from eumu.cl.builds import Failed, build
from eumu.cl.protocol import Form, Wanted
from eumu.errors import BuildError
from eumu.platforms import platform
from eumu.zebin import compilers, container, header

ELF = Path(__file__).with_name("data") / "zeros.pvc.bin"
SOURCE = "kernel void f(global int *p) { p[0] = 1; }"
_ERROR = "use of type 'image2d_t' requires __opencl_c_images support"
_COMPILER = f"""#!/bin/sh
case "$1" in
query) printf 1 > OCL_DRIVER_VERSION ;;
compile)
  case "$2" in --help) exit 0 ;; esac
  echo built >> "FOLDER/log"
  case "$*" in
  *CL3.0*__opencl_c_images*) ;;
  *CL3.0*)
    printf '%s\\n' "./opencl-c.h:1:1: error: {_ERROR}" "int f(image2d_t i);" "      ^"
    case "$(/bin/cat source.cl)" in *image2d_t*) echo "1:1:1: error: {_ERROR}" ;; esac
    exit 1 ;;
  esac
  /bin/mkdir -p out && /bin/cp "{ELF}" out/program.bin ;;
esac
"""

Runs = Callable[..., int]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """How often a compiler with such a header runs for one more build."""
    path, log = tmp_path / "ocloc", tmp_path / "log"
    path.write_text(_COMPILER.replace("FOLDER", str(tmp_path)))
    path.chmod(0o755)
    monkeypatch.setenv("EUMU_OCLOC", str(path))
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(header, "_failed", set())

    def run(source: str = SOURCE, options: str = "-cl-std=CL3.0", **more: str) -> int:
        log.write_text("")
        try:
            zebin.compile(source, more.get("device", "pvc"), options)
        finally:
            count = len(log.read_text().splitlines())
        return count

    return run


def test_the_header_fails_once(runs: Runs) -> None:
    assert runs(options="-cl-std=CL2.0") == 1
    assert [runs(f"{SOURCE} /* {k} */") for k in range(3)] == [2, 1, 1]
    assert runs(f"{SOURCE} /* -D */", "-cl-std=CL3.0 -DX=1 -I /images/include") == 1


def test_what_is_kept_needs_no_compiler(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs() == 2
    monkeypatch.setattr(header, "_failed", set())  # as in another process
    assert runs() == 0
    assert runs(f"{SOURCE} //") == 1


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (f'#include "x.h"\n{SOURCE}', ""),
        (f"#define F(a) a##x\n{SOURCE}", ""),
        (f"/* imag\\\ne */ {SOURCE}", ""),
        (f"kernel void g(sampler_t s) {{}} {SOURCE}", ""),
        (f"{SOURCE} // 1", "-D X=image2d_t"),
        (f"{SOURCE} // 2", "-include x.h"),
    ],
)
def test_a_program_that_may_have_images_is_tried_first(
    source: str, options: str, runs: Runs
) -> None:
    assert runs() == 2
    assert runs(source, f"-cl-std=CL3.0 {options}") == 2


def test_a_program_with_images_stays_wrong(runs: Runs) -> None:
    assert runs() == 2
    with pytest.raises(BuildError, match="image2d_t"):
        runs("kernel void g(read_only image2d_t i) {}")


def test_errors_of_the_header_do_not_hide_those_of_the_program(runs: Runs) -> None:
    with pytest.raises(BuildError) as caught:
        runs("kernel void g(read_only image2d_t i) {}")
    assert str(caught.value).startswith("1 error in the program")
    for said in (str(caught.value), *caught.value.__notes__):
        assert "image2d_t" in said and "opencl-c.h" not in said and "int f(" not in said


@pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed")
def test_objects_are_helped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header, "_failed", set())
    options = "-cl-std=CL3.0"
    for text in (SOURCE, f"{SOURCE} // again"):
        made = build(Wanted.OBJECT, Form.SOURCE, options, [("", text.encode())], platform("pvc"))
        assert made.of is not None and container.is_spirv(made.of.modules[0])


@pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed")
@pytest.mark.parametrize("wanted", [Wanted.OBJECT, Wanted.PROGRAM])
def test_a_log_has_the_errors_of_the_program(wanted: Wanted) -> None:
    text = b"kernel void f(global int *p) { p[0] = nothing(); }"
    with pytest.raises(Failed, match="nothing") as caught:
        build(wanted, Form.SOURCE, "-cl-std=CL3.0", [("", text)], platform("pvc"))
    assert "opencl-c.h" not in str(caught.value)
