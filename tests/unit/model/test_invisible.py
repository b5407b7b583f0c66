"""Invisible characters: the table equals Unicode's data, and names with them are refused."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from itertools import chain

import pytest

from docs.unicode_tables import ask_perl, merge
from horae.errors import InvalidTask
from horae.model.text.field_checks import check_text
from horae.model.text.invisible_characters import (
    DEFAULT_IGNORABLE,
    code_point,
    escape_hidden,
    first_ignorable,
    is_hidden,
    without_ignorable,
)

IGNORABLE = frozenset(chain.from_iterable(range(first, last + 1) for first, last in DEFAULT_IGNORABLE))
PREPENDED = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Prepended_Concatenation_Mark: format characters that are drawn."""
ANNOTATIONS = {*range(0xFFF9, 0xFFFC), *range(0x13430, 0x13456)}
"""Interlinear annotation and Egyptian hieroglyph controls: the derivation of the property leaves them out."""


@pytest.mark.skipif(shutil.which("perl") is None, reason="the Unicode data comes with Perl")
def test_table_is_the_property_default_ignorable_code_point() -> None:
    _version, ranges = ask_perl()
    assert ranges == DEFAULT_IGNORABLE


def test_table_contains_every_format_character_variation_selector_and_filler() -> None:
    for point in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(point), "")
        is_format = unicodedata.category(chr(point)) == "Cf" and point not in PREPENDED | ANNOTATIONS
        is_filler = name.startswith(("HANGUL", "HALFWIDTH HANGUL")) and name.endswith("FILLER")
        if is_format or is_filler or "VARIATION SELECTOR" in name:
            assert point in IGNORABLE, f"{point:04X} {name}"


def test_ranges_are_merged_from_single_characters() -> None:
    assert list(merge([])) == []
    assert list(merge([1, 2, 3, 7, 9, 10])) == [(1, 3), (7, 7), (9, 10)]


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u00ad",
        "\u202e",
        "\ufe0f",
        "\u3164",
        "\u115f",
        "\uffa0",
        "\u034f",
        "\u180b",
        "\U000e0061",
        "\U000e0100",
    ],
)
def test_name_with_an_invisible_character_is_refused(hidden: str) -> None:
    with pytest.raises(InvalidTask):
        check_text("name", f"re{hidden}port", 100)


def test_refusal_names_the_character_and_its_place() -> None:
    with pytest.raises(InvalidTask) as found:
        check_text("name", "❤\ufe0f report", 100)
    assert found.value.code == "invisible_character"
    for language in ("en", "zh"):
        assert "U+FE0F" in found.value.in_language(language).message
    assert found.value.facts["place"] == 2


@pytest.mark.parametrize("name", ["report", "日报", "отчёт", "café", "e\u0301", "📅 plan", "تقرير"])
def test_name_with_visible_characters_only_is_kept(name: str) -> None:
    check_text("name", name, 100)
    assert first_ignorable(name) is None
    assert without_ignorable(name) == name


def test_hidden_characters_are_written_as_json_escapes() -> None:
    assert escape_hidden("plain text") == "plain text"
    assert escape_hidden("a\u202eb\nc\ufe0f\U000e0061é") == "a\\u202eb\\u000ac\\ufe0f\\udb40\\udc61é"
    assert without_ignorable("a\u200bb\ufe0f") == "ab"
    assert code_point("\u200b") == "U+200B"
    assert is_hidden("\ud800")
    assert not is_hidden("é")
