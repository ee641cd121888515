"""The platforms: one record each, and the one table of the names that lead to them.

Sizes are those of the largest common part of a platform (public product data); a kernel cannot
tell parts of one platform apart except by what it asks the machine about itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from eumu.errors import UnknownDevice
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Platform:
    """What eumu knows of one platform.

    `grf_bytes` is the size of one general register.  `max_group_size` is in work items,
    `max_slm_bytes` per thread group.  `ocloc` is the compiler's name of the device, `visa` the
    name that Intel's vISA tools use, `iga` that of its disassembler; `product_families` are
    the numbers in a compiled ELF.
    `scratch_is_surface` says that r0.5 names the thread's scratch space by a surface state, not by
    a byte offset.  `sr0_gaps` are (bit, count): where the thread number in %sr0 has unused bits,
    `sr0_thread_bits` how many bits the thread of an EU has there; 0 is a plain number with gaps.
    `numbers_threads` says that bits 7:0 of r0.2 are the number of a thread in its group.
    `least_thread_data` is the number of bytes between r0 and the data of all threads at least, also
    where a kernel takes no local ids.
    """

    name: str
    title: str
    generation: str
    grf_bytes: int
    subslices: int
    eus_per_subslice: int
    threads_per_eu: int
    max_slm_bytes: int
    ocloc: str
    visa: str
    product_families: tuple[int, ...]
    iga: str = ""
    max_simd: int = 32
    max_group_size: int = 1024
    has_lsc: bool = False
    has_sampler: bool = True
    has_int64: bool = True
    has_double: bool = True
    has_systolic: bool = False
    scratch_is_surface: bool = False
    sr0_gaps: tuple[tuple[int, int], ...] = ()
    sr0_thread_bits: int = 0
    numbers_threads: bool = False
    least_thread_data: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def hardware_threads(self) -> int:
        """Hardware threads of the whole device."""
        return self.subslices * self.eus_per_subslice * self.threads_per_eu

    def sr0(self, thread: int) -> int:
        """The thread number as %sr0 shows it; `thread` is below `hardware_threads`."""
        if self.sr0_thread_bits:
            eu, place = divmod(thread, self.threads_per_eu)
            thread = eu << self.sr0_thread_bits | place
        for bit, count in self.sr0_gaps:
            low = thread & ((1 << bit) - 1)
            thread = low | (thread >> bit << bit + count)
        return thread

    @property
    def has_native_level(self) -> bool:
        """Whether eumu runs the native code: that of Gen9, and what Gen8 has of it."""
        return self.generation in ("gen8", "gen9")

    @property
    def order(self) -> int:
        """Position in time: a later platform has a greater number."""
        return list(PLATFORMS).index(self.name)


_KB = 1024

# In order of appearance; instruction tables say `since` and `until` with these names.
_ALL = (
    Platform(
        *("bdw", "Broadwell", "gen8"),
        grf_bytes=32,
        least_thread_data=32,
        subslices=3,
        eus_per_subslice=8,
        threads_per_eu=7,
        max_slm_bytes=64 * _KB,
        ocloc="bdw",
        visa="BDW",
        iga="8",
        product_families=(0x10, 0x11),
    ),
    Platform(
        *("skl", "Skylake", "gen9"),
        grf_bytes=32,
        least_thread_data=32,
        subslices=3,
        eus_per_subslice=8,
        threads_per_eu=7,
        max_slm_bytes=64 * _KB,
        ocloc="skl",
        visa="SKL",
        iga="9",
        product_families=(0x12, 0x13, 0x14),
    ),
    Platform(
        *("bxt", "Broxton / Apollo Lake", "gen9"),
        grf_bytes=32,
        least_thread_data=32,
        subslices=3,
        eus_per_subslice=6,
        threads_per_eu=6,
        max_slm_bytes=64 * _KB,
        ocloc="apl",
        visa="BXT",
        iga="9",
        product_families=(0x15, 0x16, 0x17),
    ),
    Platform(
        *("icllp", "Ice Lake", "gen11"),
        grf_bytes=32,
        least_thread_data=32,
        subslices=8,
        eus_per_subslice=8,
        threads_per_eu=7,
        max_slm_bytes=64 * _KB,
        ocloc="icllp",
        visa="ICLLP",
        iga="11",
        product_families=(0x19, 0x1A, 0x1B, 0x1C),
        has_int64=False,
        has_double=False,
    ),
    Platform(
        *("tgllp", "Tiger Lake", "gen12lp"),
        grf_bytes=32,
        least_thread_data=32,
        subslices=6,
        eus_per_subslice=16,
        threads_per_eu=7,
        max_slm_bytes=64 * _KB,
        ocloc="tgllp",
        visa="TGLLP",
        iga="12p1",
        product_families=(0x1D, 0x1E, 0x1F, 0x20, 0x4BA),
        has_int64=False,
        has_double=False,
    ),
    Platform(
        *("xehp", "Xe HP SDV", "xe-hp"),
        numbers_threads=True,
        grf_bytes=32,
        subslices=32,
        eus_per_subslice=16,
        threads_per_eu=8,
        max_slm_bytes=64 * _KB,
        ocloc="xe_hp_sdv",
        visa="XeHP_SDV",
        iga="12p5",
        product_families=(0x4E2,),
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (6, 1)),
    ),
    Platform(
        *("dg2", "DG2 / Arc", "xe-hpg"),
        numbers_threads=True,
        grf_bytes=32,
        subslices=32,
        eus_per_subslice=16,
        threads_per_eu=8,
        max_slm_bytes=64 * _KB,
        ocloc="dg2",
        visa="DG2",
        iga="12p71",
        product_families=(0x4F6,),
        has_lsc=True,
        has_int64=False,
        has_double=False,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (6, 1)),
    ),
    Platform(
        *("mtl", "Meteor Lake", "xe-lpg"),
        numbers_threads=True,
        grf_bytes=32,
        subslices=8,
        eus_per_subslice=16,
        threads_per_eu=8,
        max_slm_bytes=64 * _KB,
        ocloc="mtl",
        visa="MTL",
        iga="12p71",
        product_families=(0x4F8,),
        has_lsc=True,
        has_int64=False,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (6, 1)),
    ),
    Platform(
        *("arl", "Arrow Lake H", "xe-lpg+"),
        numbers_threads=True,
        grf_bytes=32,
        subslices=8,
        eus_per_subslice=16,
        threads_per_eu=8,
        max_slm_bytes=64 * _KB,
        ocloc="arl-h",
        visa="ARL",
        iga="12p71",
        product_families=(0x4F9,),
        has_lsc=True,
        has_int64=False,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (6, 1)),
    ),
    Platform(
        *("pvc", "Ponte Vecchio", "xe-hpc"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=64,
        eus_per_subslice=8,
        threads_per_eu=8,
        max_slm_bytes=128 * _KB,
        ocloc="pvc",
        visa="PVCXT",
        iga="12p72",
        product_families=(0x4F7,),
        has_lsc=True,
        has_sampler=False,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (6, 2)),
    ),
    Platform(
        *("bmg", "Battlemage / Arc B", "xe2-hpg"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=20,
        eus_per_subslice=8,
        threads_per_eu=8,
        max_slm_bytes=128 * _KB,
        ocloc="bmg",
        visa="XE2",
        iga="xe2",
        product_families=(0x4FA,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (7, 1), (10, 1)),
    ),
    Platform(
        *("lnl", "Lunar Lake", "xe2-lpg"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=8,
        eus_per_subslice=8,
        threads_per_eu=8,
        max_slm_bytes=128 * _KB,
        ocloc="lnl-m",
        visa="XE2",
        iga="xe2",
        product_families=(0x4FB,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (7, 1), (10, 1)),
    ),
    Platform(
        *("ptl", "Panther Lake", "xe3-lpg"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=12,
        eus_per_subslice=8,
        threads_per_eu=10,
        max_slm_bytes=128 * _KB,
        ocloc="ptl",
        visa="XE3",
        iga="xe3",
        product_families=(0x514,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((7, 1),),
        sr0_thread_bits=4,
    ),
    Platform(
        *("nvl", "Nova Lake S", "xe3-lpg"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=12,
        eus_per_subslice=8,
        threads_per_eu=10,
        max_slm_bytes=128 * _KB,
        ocloc="nvl-s",
        visa="XE3",
        iga="xe3",
        product_families=(0x53C,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((7, 1),),
        sr0_thread_bits=4,
    ),
    # No public page counts its parts, nor gives its thread numbers: those of nvl.
    Platform(
        *("nvlp", "Nova Lake P", "xe3p-lpg"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=12,
        eus_per_subslice=8,
        threads_per_eu=10,
        max_slm_bytes=128 * _KB,
        ocloc="nvl-p",
        visa="NVL",
        product_families=(0x550,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((7, 1),),
        sr0_thread_bits=4,
    ),
    # Nor of this one.
    Platform(
        *("cri", "Crescent Island", "xe3p-xpc"),
        numbers_threads=True,
        grf_bytes=64,
        subslices=20,
        eus_per_subslice=8,
        threads_per_eu=8,
        max_slm_bytes=128 * _KB,
        ocloc="cri",
        visa="XE3P_CRI",
        product_families=(0x564,),
        has_lsc=True,
        has_systolic=True,
        scratch_is_surface=True,
        sr0_gaps=((3, 1), (7, 1), (10, 1)),
    ),
)

PLATFORMS: Final[dict[str, Platform]] = {p.name: p for p in _ALL}

# Other names, lower case, '-' and ' ' written as '_': the compiler's, and what people call the
# cards and processors that have one of these GPUs.
_OTHER_NAMES: Final = {
    "bdw": "gen8 broadwell chv",
    "skl": "gen9 skylake kbl cfl whl aml cml kabylake coffeelake cometlake",
    "bxt": "apl broxton glk apollolake geminilake",
    "icllp": "gen11 icl ehl jsl lkf icelake",
    "tgllp": "gen12lp tgl rkl adl_s adl_p adl_n rpl_s rpl_p dg1 xe_lp adl rpl iris_xe tigerlake"
    " rocketlake alderlake raptorlake iris_xe_max",
    "xehp": "xe_hp_sdv xehp_sdv xe_hp",
    "dg2": "acm_g10 acm_g11 acm_g12 dg2_g10 dg2_g11 dg2_g12 ats_m75 ats_m150 arc xe_hpg alchemist"
    " a310 a350m a370m a380 a550m a580 a730m a750 a770 a770m flex140 flex170",
    "mtl": "xe_lpg meteorlake mtl_u mtl_h mtl_s mtl_m mtl_p arl_s arl_u",
    "arl": "arl_h xe_lpgplus arrowlake",
    "pvc": "pvc_sdv pvcxt xe_hpc pvc_vg max1100 max1550",
    "bmg": "bmg_g21 bmg_g31 battlemage xe2_hpg xe2 b50 b60 b65 b70 b570 b580",
    "lnl": "lnl_m lunarlake xe2_lpg",
    "ptl": "ptl_h ptl_u wcl pantherlake wildcatlake xe3_lpg xe3 b370 b390",
    "nvl": "nvl_s nvl_hx nvl_ul nvl_u nvl_h novalake",
    "nvlp": "nvl_p xe3p_lpg",
    "cri": "crescentisland xe3p_xpc xe3p_cri",
}
ALIASES: Final[dict[str, str]] = {
    name: platform for platform, names in _OTHER_NAMES.items() for name in names.split()
}
# What a name may begin with without meaning anything else: "Arc A770", "intel iris-xe".
_PREFIXES: Final = ("intel_", "data_center_gpu_", "arc_", "arc", "gpu_max_", "max_", "flex_")
_NEAREST: Final = 5


def platform(name: str | Platform) -> Platform:
    """The platform that a name stands for; case and '-' against '_' do not matter.

    >>> platform("BXT") is platform("apl")
    True
    """
    if isinstance(name, Platform):
        return name
    if not isinstance(name, str):
        raise UnknownDevice(f"a device is a name or a Platform, not {type(name).__name__}")
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    record = next((PLATFORMS[n] for n in map(_plain, _spellings(key)) if n in PLATFORMS), None)
    if record is None:
        raise UnknownDevice(_unknown(name, key))
    return record


def _plain(key: str) -> str:
    return ALIASES.get(key, key)


def _spellings(key: str) -> Iterator[str]:
    """A name, and what is left of it without the maker and the brand."""
    yield key
    for prefix in _PREFIXES:
        if key.startswith(prefix):
            rest = key.removeprefix(prefix)
            yield from _spellings(rest)
            if prefix.endswith("_"):
                yield prefix.split("_")[-2] + rest  # "max_1100" is max1100, "flex_170" flex170
    yield key.replace("_", "")


def _unknown(name: str, key: str) -> str:
    """The nearest names; of a name that is like none, every platform."""
    close = difflib.get_close_matches(key, [*PLATFORMS, *ALIASES], n=_NEAREST, cutoff=0.5)
    nearest = ", ".join(n if _plain(n) == n else f"{n} (= {_plain(n)})" for n in close)
    if close:
        return f"unknown device {name!r}; the nearest names are {nearest}"
    listed = ", ".join(f"{p.name} ({p.title})" for p in _ALL)
    return f"unknown device {name!r}; there are {listed}, and other names of these"


def of_product_family(number: int) -> Platform | None:
    """The platform with this product family number (ELF note `.note.intelgt.compat`)."""
    return next((p for p in _ALL if number in p.product_families), None)
