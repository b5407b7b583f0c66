"""Python values as JSON: round trips, and values without a JSON form are refused or shown."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import InvalidTask
from horae.model.limits import PAYLOAD_BYTES, RESULT_BYTES
from horae.targets.function.arguments.build import converter_for
from horae.targets.function.arguments.encode import encode_arguments, encode_result


class Size(Enum):
    SMALL = (1, 2)
    LARGE = (3, 4)


class Word(StrEnum):
    YES = "yes"


class Pair(NamedTuple):
    left: int
    right: timedelta


class Box(TypedDict):
    when: datetime


@dataclass(frozen=True)
class Everything:
    size: Size
    word: Word
    pair: Pair
    box: Box
    days: frozenset[date]
    counts: dict[int, float]
    by_word: dict[Word, UUID | None]
    kind: Literal["a", "b"]


INSTANTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=8))]))
LENGTHS = st.timedeltas(min_value=timedelta(days=-36_500), max_value=timedelta(days=36_500))


@given(
    st.builds(
        Everything,
        size=st.sampled_from(Size),
        word=st.sampled_from(Word),
        pair=st.builds(Pair, st.integers(), LENGTHS),
        box=st.fixed_dictionaries({"when": INSTANTS}),
        days=st.frozensets(st.dates()),
        counts=st.dictionaries(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
        by_word=st.dictionaries(st.sampled_from(Word), st.none() | st.uuids()),
        kind=st.sampled_from(["a", "b"]),
    )
)
def test_arguments_round_trip(everything: Everything) -> None:
    text = encode_arguments({"it": everything})
    assert converter_for(Everything).read(json.loads(text)["it"]) == everything


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_round_trips_including_lone_surrogates(text: str) -> None:
    encoded = encode_arguments({"text": text})
    assert json.loads(encoded.encode().decode()) == {"text": text}


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [object(), b"bytes", math.nan, math.inf, datetime(2026, 3, 1), CIRCLE, {(1, 2): 3}, 10**5_000, int, lambda: 1],
    ids=lambda value: type(value).__name__,
)
def test_value_without_json_form_is_refused_as_argument_and_shown_as_result(value: Any) -> None:
    with pytest.raises(InvalidTask) as caught:
        encode_arguments({"it": value})
    assert caught.value.code == "bad_payload"
    assert json.loads(encode_result(value) or "null") is not None


def test_a_payload_has_its_bounds_counted_in_bytes() -> None:
    most = "é" * ((PAYLOAD_BYTES - len('{"t":""}')) // 2)
    assert len(encode_arguments({"t": most}).encode()) == PAYLOAD_BYTES
    with pytest.raises(InvalidTask) as caught:
        encode_arguments({"t": most + "é"})
    assert caught.value.code == "payload_too_large"


RESULTS: list[tuple[Any, Any]] = [
    (0, 0),
    (False, False),
    ("", ""),
    (Word.YES, "yes"),
    ({"at": datetime(2026, 3, 1), "odd": {1}}, {"at": "2026-03-01T00:00:00", "odd": [1]}),
    (OrderedDict(a=Path("x/y")), {"a": "x/y"}),
    ([b"raw"], ["b'raw'"]),
    ({None: 1, 2.5: 2, True: 3}, {"null": 1, "2.5": 2, "true": 3}),
]


@pytest.mark.parametrize(("result", "wanted"), RESULTS)
def test_result_is_encoded_as_well_as_possible(result: Any, wanted: Any) -> None:
    assert json.loads(encode_result(result) or "null") == wanted


def test_no_result_is_no_text() -> None:
    assert encode_result(None) is None


@pytest.mark.parametrize(
    "result", ["é" * RESULT_BYTES, ["\0" * 100] * 2_000, "\N{GRINNING FACE}" * 100_000, "\ud800" * 99_999]
)
def test_a_large_result_is_cut_and_stays_json(result: Any) -> None:
    text = encode_result(result) or ""
    assert RESULT_BYTES * 0.9 < len(text.encode()) <= RESULT_BYTES
    assert json.loads(text).endswith("…")


def test_a_result_that_cannot_even_be_shown_is_still_a_success() -> None:
    class Sulky:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert json.loads(encode_result([Sulky()]) or "") == "<list that cannot be shown: RuntimeError>"
