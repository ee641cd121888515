"""Fields that stand in the table of those that do nothing; `fields.py` looks at all others, too."""

from __future__ import annotations

import pytest

from eumu.device.vme.payload import UNHEEDED
from motion.fields import BEHIND, Unit, fields


@pytest.fixture(scope="module")
def unit() -> Unit:
    return Unit(dict.fromkeys(BEHIND, 2))


def test_fields_of_the_table_do_nothing(unit: Unit) -> None:
    known = {name: place for name, *place in fields() if name in UNHEEDED}
    assert set(known) == set(UNHEEDED)
    assert not [name for name, place in known.items() if unit.acts(name, *place)]


@pytest.mark.parametrize("name", ["src_size", "ref_pixel_shift", "intra_part_mask", "ref_width"])
def test_others_act(unit: Unit, name: str) -> None:
    place = next(place for known, *place in fields() if known == name)
    assert unit.acts(name, *place)
