"""Long texts end with a whole word and an ellipsis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.interchange.notes import note
from horae.mcp_server.lines import shorten_line
from horae.model.limits import shorten
from horae.model.refusals import refuse
from horae.schedule.refusals import refuse as refuse_schedule
from horae.typography import ELLIPSIS, truncate

WORDS = "the quick brown fox jumps over the lazy dog and runs on "


@pytest.mark.parametrize("most", range(5, 50))
def test_the_last_word_is_whole(most: int) -> None:
    cut = truncate(WORDS.strip(), most)
    assert len(cut) <= most
    assert cut.endswith(ELLIPSIS)
    assert WORDS.startswith(cut.removesuffix(ELLIPSIS) + " ")


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("short", 5, "short"),
        ("one two", 4, "one…"),
        ("abcdef", 4, "abc…"),
        ("a " + "x" * 100, 50, "a " + "x" * 47 + "…"),
        ("每天早上九点提醒我打卡", 5, "每天早上…"),
    ],
)
def test_text_without_spaces_is_cut_at_the_limit(text: str, most: int, expected: str) -> None:
    assert truncate(text, most) == expected


@given(st.text(), st.integers(1, 200))
def test_truncated_text_fits_the_limit(text: str, most: int) -> None:
    cut = truncate(text, most)
    assert len(cut) <= most
    assert (cut == text) is (len(text) <= most)


def test_every_front_end_cuts_between_words() -> None:
    long = WORDS * 20
    refusals = (
        refuse("bad_choice", name="x", value=long, allowed="a"),
        refuse_schedule("unknown_zone", zone=long, suggestion="UTC"),
    )
    texts = [each.message for each in refusals]
    texts += [note("nanoclaw_status", status=long).english, shorten_line(long), shorten(long, 100)]
    for text in texts:
        before, found, _ = text.partition(ELLIPSIS)
        assert found
        assert before.split()[-1].strip("'\"") in WORDS.split(), text


def test_list_in_a_hint_is_not_cut() -> None:
    wanted = ", ".join(f"choice-{number}" for number in range(30))
    assert wanted in refuse("bad_policy", name="x", value=1, wanted=wanted).hint
    assert wanted in refuse("unknown_target", kind="x", kinds=wanted).hint
