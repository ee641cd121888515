"""The table of conformance says what the registry and the tests say."""

from __future__ import annotations

import conformance
import newest_pages


def test_no_page_is_unsupported_without_a_reason() -> None:
    for page, opcodes in conformance.pages().items():
        for opcode in opcodes:
            if opcode.fidelity.level == "unsupported":
                assert opcode.fidelity.detail, f"{page}: {opcode}"


def test_every_page_of_the_newest_documents_is_executed_or_refused() -> None:
    for page, row in zip(newest_pages.PAGES, newest_pages.rows(), strict=False):
        assert not row.endswith("| – | – |"), page
    assert set(newest_pages.ELSEWHERE) <= set(newest_pages.PAGES)
