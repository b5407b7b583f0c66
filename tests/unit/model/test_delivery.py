"""The result of an event says whether a listener received it."""

from __future__ import annotations

import pytest

from horae.model.events.trigger_fields import reached_no_listener


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("event", '{"delivered": 1, "to": {"process": 1}}'),
        ("event", '{"delivered": ["process"]}'),
        ("event", '{"delivered": false}'),
        ("event", "[0]"),
        ("event", "no JSON"),
        ("event", None),
        ("function", '{"delivered": 0}'),
    ],
)
def test_other_results_say_nothing_about_listeners(kind: str, result: str | None) -> None:
    assert not reached_no_listener(kind, result)


def test_event_that_was_delivered_to_zero_listeners_reached_none() -> None:
    assert reached_no_listener("event", '{"delivered": 0, "to": {}}')
