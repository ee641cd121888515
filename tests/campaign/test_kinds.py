"""What the kinds of campaigns say of programs, planted differences among them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from compare.test_compare import _other_source, with_fault
from eumu.campaign import files, hostile, random_visa
from eumu.campaign.tasks import DIFFERS, REFUSED, SAME, UNSUPPORTED, Result, Task
from eumu.cli.main import main
from eumu.exec.grid import RunStats
from eumu.exec.jit import Jit
from eumu.fuzz.walking import WALKS_HEADER

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "tests" / "kernels" / "bin" / "apl" / "saxpy.bin"


@pytest.mark.parametrize(
    ("verdict", "kind", "sort"),
    [
        ("the same", SAME, ""),
        ("unsupported: gateway", UNSUPPORTED, "gateway"),
        ("the finalizer's check refuses it", REFUSED, "the finalizer's check refuses it"),
        ("differs; native on jit: D0[1] is 0x1 natively, 0x2 as vISA", DIFFERS, "native on jit"),
        ("differs; kernel random: fault: no end", DIFFERS, "a fault"),
    ],
)
def test_verdicts_have_classes(verdict: str, kind: str, sort: str) -> None:
    found = random_visa.result("p", verdict)
    assert (found.kind, found.sort) == (kind, sort)
    assert found.is_fine == (kind != DIFFERS)


def test_a_planted_difference_of_an_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast engine leaves another byte in the memory of the first of two kernels."""
    monkeypatch.setattr(random_visa, "SIMD", (8,))
    real = Jit.run

    def wrong(self: Jit, grid: Any, memory: Any, *rest: Any) -> Any:
        stats = real(self, grid, memory, *rest)
        memory.arena[0] ^= 1
        return stats

    monkeypatch.setattr(Jit, "run", wrong)
    first, second = random_visa.run(Task("random-visa", "pvc", 0, 2))
    assert (first.program, first.title) == ("random-visa/pvc/0", "differs: visa on jit")
    assert first.what.startswith("memory[0] is ")
    assert (second.program, second.kind) == ("random-visa/pvc/1", SAME)


def test_loops_that_step_through_memory_are_among_random_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []

    def seen(bundle: Any, host: object) -> list[Any]:
        texts.append(bundle.file())
        return []

    monkeypatch.setattr(random_visa, "differences", seen)
    found = list(random_visa.run(Task("random-visa", "pvc", 0, 30)))
    assert [r.kind for r in found] == [SAME] * 30
    assert {r.program for r in found} == {f"random-visa/pvc/{k}" for k in range(30)}
    walks = [text for text in texts if text.startswith(WALKS_HEADER)]
    assert len(walks) == 3  # one of each SIMD size
    assert len(texts) == 6


@pytest.mark.parametrize("place", ["array", "canary"])
def test_a_planted_write_of_an_engine_is_found(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The fast engine leaves another byte in the first array, or right before it."""
    real = Jit.run

    def wrong(self: Jit, grid: Any, memory: Any, *rest: Any) -> Any:
        stats = real(self, grid, memory, *rest)
        memory.arena[memory.addresses[0] - memory.base - (place == "canary")] ^= 1
        return stats

    monkeypatch.setattr(Jit, "run", wrong)
    (found,) = hostile.run(Task("hostile", "ir", 0, 1))
    sort = "beside arrays" if place == "canary" else "ir on jit"
    assert (found.program, found.title) == ("hostile/ir/0", f"differs: {sort}")
    assert found.what.startswith("launch ")


def test_hostile_kernels_have_no_device(tmp_path: Path) -> None:
    words = ["campaign", "hostile", "--devices", "skl", "--store", str(tmp_path / "s.sqlite")]
    assert main(words) == 2


def one(folder: Path, device: str = "apl") -> list[Result]:
    (task,) = files.tasks(folder, device, [], 60.0)
    return list(files.run(task))


def test_a_file_is_run_in_all_forms(tmp_path: Path) -> None:
    shutil.copy(SAXPY, tmp_path)
    (found,) = one(tmp_path)
    assert found.program.startswith("files/apl/saxpy.bin@") and found.program.endswith(":saxpy")
    assert (found.kind, found.what) == (SAME, "")


def test_a_planted_difference_between_levels_is_found(tmp_path: Path) -> None:
    """An instruction of the native code reads another register."""
    path = tmp_path / "saxpy.bin"
    path.write_bytes(with_fault(SAXPY.read_bytes(), _other_source))
    (found,) = one(tmp_path)
    assert (found.kind, found.sort) == (DIFFERS, "levels")
    assert found.what.startswith("y[8] differs (32 elements differ): ")
    assert str(tmp_path) not in found.what


def test_engines_that_differ_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SAXPY, tmp_path)
    monkeypatch.setattr(Jit, "run", lambda *rest: RunStats(0, 0, 0))
    (found,) = one(tmp_path)
    assert (found.kind, found.sort) == (DIFFERS, "engines")
    assert "differs on the fast engine" in found.what


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k.visaasm").write_text('.version 4.1\n.kernel "k"\nnonsense\n')
    (found,) = one(tmp_path, "skl")
    assert (found.kind, found.is_fine) == (REFUSED, True)


def test_sources_have_a_task_for_each_set_of_options(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("inner/k.cl", "k.bin", "k.txt"):
        (tmp_path / name).write_text(name)
    found = [(t.path, t.options) for t in files.tasks(tmp_path, "apl", ["-DA", "-DB"], 60.0)]
    assert found == [("inner/k.cl", "-DA"), ("inner/k.cl", "-DB"), ("k.bin", "")]
    with pytest.raises(FileNotFoundError):
        list(files.tasks(tmp_path / "none", "apl", [], 60.0))
