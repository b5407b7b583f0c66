"""The `after` schedule: canonical JSON, checks, description; it has no instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import InvalidSchedule
from horae.public import describe, parse, preview
from horae.schedule import After, AnyOf, Every, Link, Past, from_json, next, to_json  # noqa: A004 - next occurrence
from horae.schedule.after import MAX_PREDECESSORS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOTH = After((Link("backup"), Link("check", "failed")), "all")


def test_canonical_json_round_trip() -> None:
    encoded = {
        "kind": "after",
        "links": [{"task": "backup", "on": "succeeded"}, {"task": "check", "on": "failed"}],
        "mode": "all",
    }
    assert to_json(BOTH) == encoded
    assert from_json(encoded) == BOTH == parse(encoded)
    assert from_json({"kind": "after", "links": [{"task": "backup"}]}) == After((Link("backup"),))


def test_it_has_no_instants() -> None:
    assert next(BOTH, NOON, Past(NOON)) is None
    assert preview(BOTH, after=NOON) == []


def test_descriptions() -> None:
    assert describe(BOTH) == "after backup and check (failed)"
    assert describe(After((Link("a"), Link("b", "ended")))) == "after a or b (ended)"
    assert describe(BOTH, language="zh") == "在 backup 成功 且 check 失败之后"


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({"links": []}, "after_count"),
        ({"links": [{"task": str(number)} for number in range(MAX_PREDECESSORS + 1)]}, "after_count"),
        ({"links": [{"task": "a"}, {"task": "a", "on": "failed"}]}, "after_twice"),
        ({"links": [{"task": "a", "on": "done"}]}, "bad_choice"),
        ({"links": [{"task": "a"}], "mode": "some"}, "bad_choice"),
        ({"links": [{"task": 1}]}, "bad_value"),
        ({"links": ["a"]}, "bad_value"),
        ({"links": [{"on": "failed"}]}, "bad_value"),
        ({"links": "a"}, "bad_value"),
        ({}, "bad_value"),
        ({"links": [{"task": "a"}], "repeat": 3}, "after_modifier"),
    ],
)
def test_bad_input_is_refused(mapping: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        from_json({"kind": "after", **mapping})
    assert caught.value.code == code


def test_it_is_no_part_of_a_list() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        AnyOf((Every(timedelta(hours=1)), BOTH))
    assert caught.value.code == "after_in_list"
