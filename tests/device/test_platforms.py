"""The table of platforms and the names that lead to it."""

from __future__ import annotations

import pytest

from eumu.errors import UnknownDevice
from eumu.platforms import ALIASES, PLATFORMS, of_product_family, platform


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("apl", "bxt"),
        ("BXT", "bxt"),
        ("bxt", "bxt"),
        ("XeHP_SDV", "xehp"),
        ("xe-hp-sdv", "xehp"),
        ("DG2", "dg2"),
        ("acm-g10", "dg2"),
        (" pvc ", "pvc"),
        ("PVCXT", "pvc"),
        ("dg1", "tgllp"),
        ("a770", "dg2"),
        ("Arc A770", "dg2"),
        ("Intel Arc B580", "bmg"),
        ("b580", "bmg"),
        ("arl-h", "arl"),
        ("arl-s", "mtl"),
        ("rpl", "tgllp"),
        ("iris-xe", "tgllp"),
        ("max-1100", "pvc"),
        ("Data Center GPU Flex 170", "dg2"),
        ("lunarlake", "lnl"),
        ("wcl", "ptl"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert platform(name).name == expected
    assert platform(platform(name)) is platform(name)


def test_every_name_of_every_tool_is_known() -> None:
    for p in PLATFORMS.values():
        assert platform(p.ocloc) is p
        if p.name != "nvlp":  # NVL of the vISA tools is Xe3P; people call Nova Lake S so, too
            assert platform(p.visa).visa == p.visa
    assert set(ALIASES.values()) <= set(PLATFORMS)
    assert not set(ALIASES) & set(PLATFORMS)


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    with pytest.raises(UnknownDevice, match=r"unknown device 'a7700'; the nearest names") as error:
        platform("a7700")
    assert "a770 (= dg2)" in str(error.value)
    assert str(error.value).count(",") < 5


def test_a_name_like_none_gets_every_platform() -> None:
    with pytest.raises(UnknownDevice, match=r"unknown device 'xyzzy'; there are bdw") as error:
        platform("xyzzy")
    assert all(f"{p.name} ({p.title})" in str(error.value) for p in PLATFORMS.values())
    assert "b580" not in str(error.value)


def test_order_is_the_order_of_appearance() -> None:
    assert platform("bdw").order < platform("skl").order < platform("dg2").order
    assert platform("dg2").order < platform("pvc").order


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0x12, "skl"),
        (0x16, "bxt"),
        (0x4F6, "dg2"),
        (0x4F7, "pvc"),
        (0x4FA, "bmg"),
        (0x4FB, "lnl"),
        (0x514, "ptl"),
    ],
)
def test_product_family(number: int, name: str) -> None:
    assert of_product_family(number) is platform(name)


def test_unknown_product_family() -> None:
    assert of_product_family(0xFFFF) is None


def _thread_number(name: str, sr0: int) -> int:
    """The compiler's own arithmetic on %sr0 (as it stands in kernels with private memory)."""
    if name == "ptl":
        sr0 &= 0x3FFFF
        return 10 * (sr0 >> 4 & 7 | sr0 >> 5 & ~7) + (sr0 & 15)
    if name == "bmg":
        sr0 &= 0xFFFF
        sr0 = (sr0 & 0x3FF) | (sr0 >> 1 & ~0x3FF)
        sr0 = (sr0 & 0x7F) | (sr0 >> 1 & ~0x7F)
    elif name == "pvc":
        sr0 &= 0x7FFF
        sr0 = (sr0 & 0x3F) | (sr0 >> 2 & ~0x3F)
    else:
        sr0 &= 0x3FFF
        sr0 = (sr0 & 0x3F) | (sr0 >> 1 & ~0x3F)
    return (sr0 & 7) | (sr0 >> 1 & ~7)


@pytest.mark.parametrize("name", ["xehp", "dg2", "pvc", "bmg", "ptl"])
def test_kernels_recover_the_thread_number_from_sr0(name: str) -> None:
    p = platform(name)
    for thread in (0, 7, 8, 63, 64, 1000, p.hardware_threads - 1):
        assert _thread_number(name, p.sr0(thread)) == thread
