"""Text cut to the limits and made storable: no store refuses it, and its length stays within the limit."""

from __future__ import annotations

import pytest

from horae.model.limits import to_storable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("每天九点", "每天九点"),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("name\udcff.txt", "name?.txt"),
        ("\udcff\0é", "?\N{REPLACEMENT CHARACTER}é"),
    ],
)
def test_surrogates_and_nul_are_replaced(text: str, stored: str) -> None:
    assert to_storable(text, 100) == stored


def test_text_is_cut_to_the_limit() -> None:
    assert to_storable("word " * 100, 20).endswith("…")
    assert len(to_storable("word " * 100, 20)) <= 20
