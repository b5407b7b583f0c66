"""A draft becomes a task: its fields are checked, and its first occurrence is on the agenda."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.lifecycle.control.control import pause_new_task
from horae.lifecycle.plan import Draft, build_task, plan
from horae.model.accounts.principal import AGENT_LABEL
from horae.model.change import Change
from horae.model.entry import NEXT_SLOT, EntryKind, EntryState
from horae.model.events.event import EventKind
from horae.model.gate import Gate
from horae.model.limits import KEY_CHARACTERS, LABEL_CHARACTERS, LABELS, NAME_CHARACTERS, PAYLOAD_BYTES, TARGET_BYTES
from horae.model.policy import Policies
from horae.model.task import NEW_TASK_STATUS, Target, TaskState
from horae.schedule import Cron, Every, Now, Once, Schedule
from tests.unit.lifecycle.task_world import DAY, HOUR, NOON, hour

WISH = Draft("ada", "water the plants", Every(interval=HOUR), Target("function", "{}"), "{}", Policies(priority=3))


def test_a_task_with_its_first_occurrence_and_an_event() -> None:
    wish = WISH._replace(key="plants", lane="garden", labels={"b": "2", "a": "1"})
    change = plan(wish, "tsk_1", NOON)
    task = change.task
    assert task is not None
    assert (task.id, task.owner, task.name, task.created, task.version) == ("tsk_1", "ada", "water the plants", NOON, 1)
    assert (task.key, task.lane, task.labels) == ("plants", "garden", (("a", "1"), ("b", "2")))
    assert change.status == NEW_TASK_STATUS
    (entry,) = change.put
    assert (entry.slot, entry.kind, entry.state, entry.priority) == (NEXT_SLOT, EntryKind.NEXT, EntryState.TIMED, 3)
    assert (entry.planned, entry.due) == (hour(13), hour(13))
    assert [event.kind for event in change.events] == [EventKind.TASK_CREATED]


@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        (Every(interval=HOUR), hour(13)),
        (Every(interval=HOUR, start=NOON), NOON),
        (Every(interval=HOUR, start=NOON - HOUR / 2), hour(12.5)),
        (Every(interval=HOUR, since="end"), hour(13)),
        (Every(interval=HOUR, since="end", start=hour(12.25)), hour(12.25)),
        (Now(), NOON),
        (Once(at=hour(20)), hour(20)),
        (Once(at=NOON - DAY), NOON),
        (Cron(expression="0 * * * *", zone="UTC"), hour(13)),
    ],
)
def test_when_a_task_first_fires(schedule: Schedule, first: object) -> None:
    assert plan(WISH._replace(schedule=schedule), "tsk_1", NOON).put[0].planned == first


def test_jitter_makes_it_due_later() -> None:
    (entry,) = plan(WISH._replace(schedule=Every(interval=HOUR, jitter=HOUR)), "tsk_1", NOON).put
    assert entry.planned == hour(13)
    assert hour(13) < entry.due < hour(14)


@pytest.mark.parametrize(
    "schedule",
    [Every(interval=HOUR, end=hour(12.5)), Cron(expression="0 9 * * *", zone="UTC", end=NOON)],
)
def test_schedule_that_never_fires_is_refused(schedule: Schedule) -> None:
    with pytest.raises(InvalidTask) as refusal:
        plan(WISH._replace(schedule=schedule), "tsk_1", NOON)
    assert refusal.value.code == "never_fires"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": ""}, "bad_text"),
        ({"name": "x" * (NAME_CHARACTERS + 1)}, "bad_text"),
        ({"name": "two\nlines"}, "bad_text"),
        ({"name": 7}, "bad_text"),
        ({"owner": ""}, "bad_text"),
        ({"key": ""}, "bad_text"),
        ({"key": "x" * (KEY_CHARACTERS + 1)}, "bad_text"),
        ({"lane": ""}, "bad_text"),
        ({"lane": "a\x1b[2J"}, "bad_text"),
        ({"lane": "target:http"}, "bad_choice"),
        ({"lane": "function:garden.water"}, "bad_choice"),
        ({"payload": "x" * (PAYLOAD_BYTES + 1)}, "payload_too_large"),
        ({"payload": "植" * (PAYLOAD_BYTES // 3 + 1)}, "payload_too_large"),
        ({"target": Target("agent", "x" * TARGET_BYTES)}, "payload_too_large"),
        ({"labels": {str(number): "x" for number in range(LABELS + 1)}}, "bad_labels"),
        ({"labels": {"": "x"}}, "bad_labels"),
        ({"labels": {"x" * (LABEL_CHARACTERS + 1): ""}}, "bad_labels"),
        ({"labels": {"a": "x" * (LABEL_CHARACTERS + 1)}}, "bad_labels"),
        ({"labels": {"a": "\x00"}}, "bad_labels"),
        ({"labels": {"a": 1}}, "bad_labels"),
    ],
)
def test_invalid_drafts_are_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidTask) as refusal:
        build_task(WISH._replace(**fields), "tsk_1", NOON)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "浇" * NAME_CHARACTERS},
        {"key": "x" * KEY_CHARACTERS, "lane": "y" * KEY_CHARACTERS},
        {"payload": "x" * PAYLOAD_BYTES},
        {"payload": "植" * (PAYLOAD_BYTES // 3)},
        {"labels": {f"{number:>{LABEL_CHARACTERS}}": "" for number in range(LABELS)}},
        {"labels": {}},
    ],
)
def test_drafts_at_the_limits_are_accepted(fields: dict[str, Any]) -> None:
    assert build_task(WISH._replace(**fields), "tsk_1", NOON).id == "tsk_1"


def test_task_created_paused_starts_nothing_until_resumed() -> None:
    change = pause_new_task(plan(WISH, "tsk_1", NOON), NOON, "from the old scheduler")
    assert change.status is not None
    assert change.status.pause is not None
    assert (change.status.state, change.status.pause.note) == (TaskState.PAUSED, "from the old scheduler")
    assert [entry.state for entry in change.put] == [EntryState.ASLEEP]
    assert [event.kind for event in change.events] == [EventKind.TASK_CREATED, EventKind.TASK_PAUSED]
    assert pause_new_task(Change(), NOON) == Change()


def test_owner_lane_cannot_be_chosen_as_lane() -> None:
    with pytest.raises(InvalidTask):
        plan(WISH._replace(lane="owner:bob"), "tsk_1", NOON)


@pytest.mark.parametrize(
    ("lane", "further", "lanes"),
    [
        (None, (), ()),
        ("a", (), ("a",)),
        ("a", ("b", "c"), ("a", "b", "c")),
        (None, ("b", "c"), ("b", "c")),
        ("a", ("b", "a"), ("a", "b")),
        ("api:{owner}", (), ("api:ada",)),
        ("{label:room}", ("x{agent}",), ("attic", "xrobot")),
        ("a}b", (), ("a}b",)),
    ],
)
def test_lanes_of_a_task(lane: str | None, further: tuple[str, ...], lanes: tuple[str, ...]) -> None:
    labels = {"room": "attic", AGENT_LABEL: "robot"}
    draft = WISH._replace(lane=lane, labels=labels, policies=Policies(lanes=further))
    assert build_task(draft, "tsk_1", NOON).lanes == lanes


def test_lanes_at_their_limit() -> None:
    assert len(build_task(WISH._replace(policies=Policies(lanes=tuple("abcdefgh"))), "tsk_1", NOON).lanes) == 8
    with pytest.raises(InvalidTask) as caught:
        build_task(WISH._replace(lane="i", policies=Policies(lanes=tuple("abcdefgh"))), "tsk_1", NOON)
    assert caught.value.code == "too_many_task_lanes"


@pytest.mark.parametrize("lane", ["{}", "{label:cellar}", "{horae.owner}", "{agent}", "a{owner}{x}", "{label}"])
def test_unknown_placeholders_of_lanes_are_refused(lane: str) -> None:
    for draft in (WISH._replace(lane=lane), WISH._replace(policies=Policies(lanes=("a", lane)))):
        with pytest.raises(InvalidTask) as caught:
            build_task(draft, "tsk_1", NOON)
        assert caught.value.code == "bad_lane_placeholder"


def test_lone_surrogate_is_refused() -> None:
    for wish in (WISH._replace(payload='"\ud800"'), WISH._replace(target=Target("function", '"\ud800"'))):
        with pytest.raises(InvalidTask) as refusal:
            plan(wish, "tsk_1", NOON)
        assert refusal.value.code == "bad_payload"


def test_unknown_placeholder_of_a_gate_is_refused_as_a_part_of_the_gate() -> None:
    gate = Gate("http", '{"url": "https://example.com/{horae.x}"}')
    with pytest.raises(InvalidTask) as caught:
        build_task(WISH._replace(policies=Policies(gate=gate)), "tsk_1", NOON)
    assert (caught.value.code, caught.value.facts["gate"]) == ("unknown_placeholder", "http")
