"""Text parts of chat messages: nothing is lost, no part is above the limit, and cuts are at good places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.ports.channel import replace_surrogates
from horae.ports.text_parts import TextLimit, json_length, split_text, utf16_length

LIMITS = (
    TextLimit(40),
    TextLimit(40, utf16_length),
    TextLimit(64, json_length),
)
PIECES = st.sampled_from(
    [
        "a",
        "word ",
        "Satz. ",
        "好",
        "。",
        "！",
        "？",
        "\n",
        "\n\n",
        "  ",
        "\r\n",
        '"',
        "\\",
        "é",
        "e\u0301",
        "👨‍👩‍👧",
        "🇩🇪",
        "👍🏽",
        "\x00",
    ]
)
TEXTS = st.lists(PIECES, max_size=200).map("".join) | st.text(max_size=300).map(replace_surrogates)


@given(TEXTS, st.sampled_from(LIMITS))
def test_nothing_visible_is_lost(text: str, limit: TextLimit) -> None:
    parts = split_text(text, limit)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(TEXTS, st.sampled_from(LIMITS))
def test_parts_joined_are_the_text_unless_a_part_is_blank(text: str, limit: TextLimit) -> None:
    parts = split_text(text, limit)
    position = 0
    for part in parts:
        found = text.index(part, position)
        assert not text[position:found].strip()
        position = found + len(part)
    assert not text[position:].strip()


@given(TEXTS, st.sampled_from(LIMITS))
def test_no_part_is_above_the_limit_or_blank(text: str, limit: TextLimit) -> None:
    for part in split_text(text, limit):
        assert limit.allows(part)
        assert part.strip()


@given(st.text(min_size=1, max_size=30).map(replace_surrogates))
def test_text_within_the_limit_is_one_part(text: str) -> None:
    limit = TextLimit(30)
    assert split_text(text, limit) == ((text,) if text.strip() else ())


@given(st.text(max_size=50))
def test_measures_count_as_the_encodings_do(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one two three\n\nfour five six", ("one two three\n\n", "four five six")),
        ("one two three\nfour five six", ("one two three\n", "four five six")),
        ("One two three. Four five six", ("One two three.", " Four five six")),
        ("一二三四五六七八九十。一二三四五六七八九十", ("一二三四五六七八九十。", "一二三四五六七八九十")),
        ("他问:“一二三四五六七吗？”一二三四五六七八九十", ("他问:“一二三四五六七吗？”", "一二三四五六七八九十")),
        ("one two three four five", ("one two three four ", "five")),
        ("x" * 25, ("x" * 20, "x" * 5)),
        ("x" * 15 + "👨‍👩‍👧" * 2, ("x" * 15 + "👨‍👩‍👧", "👨‍👩‍👧")),
        ("x" * 19 + "e\u0301y", ("x" * 19, "e\u0301y")),
        ("x" * 17 + "🇩🇪🇫🇷", ("x" * 17 + "🇩🇪", "🇫🇷")),
        ("x" * 19 + "👍🏽", ("x" * 19, "👍🏽")),
        ("e" + "\u0301" * 30, ("e" + "\u0301" * 19, "\u0301" * 11)),
        (" \n" * 30, ()),
        ("", ()),
    ],
)
def test_places_of_cuts(text: str, parts: tuple[str, ...]) -> None:
    assert split_text(text, TextLimit(20)) == parts


def test_emoji_count_twice_in_utf16() -> None:
    assert [len(part) for part in split_text("😀" * 5_000, TextLimit(4_096, utf16_length))] == [2_048, 2_048, 904]


def test_quotes_and_line_ends_count_as_they_are_escaped() -> None:
    assert [len(part) for part in split_text('"' * 20, TextLimit(16, json_length))] == [8, 8, 4]


def test_long_text_is_split_in_linear_time() -> None:
    assert len(split_text("好" * 1_000_000, TextLimit(4_096, utf16_length))) == 245


@pytest.mark.parametrize(("text", "clean"), [("a\ud83d", "a\ufffd"), ("\ud83d\ude00", "😀"), ("好", "好")])
def test_lone_surrogates_are_replaced(text: str, clean: str) -> None:
    assert replace_surrogates(text) == clean
