"""A task as JSON: round trips, and refusals with suggestions."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from horae.errors import Refusal
from horae.model.change import Facts
from horae.model.entry import EntryKind, EntryState
from horae.model.policy import DEFAULT_POLICIES, ONE_SHOT_POLICIES, Missed, Policies, RetryPolicy, policies_for
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, Target, Task, TaskState, TaskStatus
from horae.schedule import Every
from horae.service.tasks.edits import KEEP, Edits, apply_edits
from horae.service.tasks.task_request import NEVER, NO_OPTIONS, MissedRequest, Options, RetryRequest, apply_options
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND, a_run, a_task, an_ended_run, an_entry, an_extra_entry
from horae.wire.tasks.policies import policies_json
from horae.wire.tasks.policies import read_policies as policies_of
from horae.wire.tasks.targets import AGENT, SHORT_TARGETS, read_target
from horae.wire.tasks.task import (
    AFTER_FIELDS,
    DEFINITION_FIELDS,
    EDITABLE_FIELDS,
    PAST,
    READ_ONLY_FIELDS,
    definition_json,
    next_due,
    read_edits,
    read_task,
    task_json,
    waiting_for,
)
from tests.unit.wire.strategies import made, policies, tasks, words

SMALL = {"name": "water", "when": "every 1h", "function": "garden.water"}
OWN = Policies(Missed("all", 2 * HOUR, 7), "queue", RetryPolicy(9, MINUTE / 2, 3.0, 2 * HOUR), 3)


def travelled(value: Any) -> Any:
    """As text, and back."""
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(tasks())
def test_task_json_round_trip(task: Task) -> None:
    again = made(read_task(travelled(definition_json(task))), task)
    assert again == task
    assert definition_json(again) == definition_json(task)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(tasks(), tasks())
def test_task_json_applied_as_edit_makes_tasks_equal(task: Task, other: Task) -> None:
    """Except key and owner, which cannot be edited."""
    assume(task.schedule.zone is not None)
    said = {name: each for name, each in travelled(definition_json(task)).items() if name in EDITABLE_FIELDS}
    after = apply_edits(other, read_edits(said), None, NOON)
    assert after == task._replace(id=other.id, owner=other.owner, key=other.key, version=other.version)


def test_export_fields_are_accepted_in_imports_only() -> None:
    facts = Facts(a_task(), NEW_TASK_STATUS, (an_entry(a_task()),))
    said = travelled(task_json(facts, last=a_run(facts.task)))
    assert set(said) == {*DEFINITION_FIELDS, *READ_ONLY_FIELDS}
    assert read_task(said, exported=True) == read_task(travelled(definition_json(facts.task)))
    with pytest.raises(Refusal) as caught:
        read_task(said)
    assert caught.value.code == "unknown_field"


# --- what is missing, unknown, or twice ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "nearest"),
    [("nam", "name"), ("payloads", "payload"), ("polices", "policies"), ("tarket", "target"), ("comand", "command")],
)
def test_an_unknown_field_is_refused_and_the_nearest_one_comes_first(said: str, nearest: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_task({**SMALL, said: 1})
    refusal = caught.value
    assert (refusal.code, refusal.facts["name"]) == ("unknown_field", said)
    offered = str(refusal.facts["allowed"]).split(", ")
    assert offered[0] == nearest
    assert set(offered) == {*DEFINITION_FIELDS, *AFTER_FIELDS, PAST, AGENT, *SHORT_TARGETS}
    assert said in refusal.message


def test_an_unknown_policy_is_refused_with_the_nearest_one() -> None:
    for part, said, nearest in (
        ({"time_out": "1m"}, "time_out", "timeout"),
        ({"missed": {"mode": "all", "limits": 3}}, "limits", "limit"),
        ({"retry": {"attempt": 3}}, "attempt", "attempts"),
    ):
        with pytest.raises(Refusal) as caught:
            read_task({**SMALL, "policies": part})
        assert (caught.value.code, caught.value.facts["name"]) == ("unknown_field", said)
        assert str(caught.value.facts["allowed"]).startswith(nearest)


@pytest.mark.parametrize("name", ["name", "when", "function"])
def test_missing_required_field_is_refused(name: str) -> None:
    for without in ({key: value for key, value in SMALL.items() if key != name}, {**SMALL, name: None}):
        with pytest.raises(Refusal) as caught:
            read_task(without)
        assert caught.value.code == "missing_field"
        assert caught.value.facts["name"] == ("target" if name == "function" else name)


def test_two_targets_are_refused() -> None:
    with pytest.raises(Refusal) as caught:
        read_task({**SMALL, "http": "https://example.org"})
    assert (caught.value.code, caught.value.facts["names"]) == ("two_targets", "http, function")


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ({"function": "app.report"}, Target("function", '{"name": "app.report"}')),
        ({"function": {"name": "app.report"}}, Target("function", '{"name": "app.report"}')),
        ({"http": "https://example.org"}, Target("http", '{"url": "https://example.org"}')),
        ({"http": {"url": "u", "method": "PUT"}}, Target("http", '{"url": "u", "method": "PUT"}')),
        ({"command": ["backup", "-v"]}, Target("command", '{"argv": ["backup", "-v"]}')),
        ({"say": "浇花"}, Target("event", '{"say": "浇花"}')),
        ({"event": "garden.watered"}, Target("event", '{"topic": "garden.watered"}')),
        ({"event": {"topic": "a", "body": 1}}, Target("event", '{"topic": "a", "body": 1}')),
        ({"target": {"kind": "http", "url": "u"}}, Target("http", '{"url": "u"}')),
        ({"target": {"kind": "own"}}, Target("own", "{}")),
    ],
)
def test_short_targets_are_expanded(said: dict[str, Any], target: Target) -> None:
    assert read_target(said) == target


@pytest.mark.parametrize("target", [{}, {"url": "u"}, {"kind": None}, {"kind": 7}, "http", ["http"], 7, True])
def test_a_target_without_a_kind_is_refused(target: object) -> None:
    with pytest.raises(Refusal) as caught:
        read_task({"name": "n", "when": "now", "target": target})
    assert (caught.value.code, caught.value.facts["name"]) == ("missing_field", "target.kind")


# --- policies --------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(policies)
def test_policies_round_trip(given_: Any) -> None:
    assert apply_options(DEFAULT_POLICIES, policies_of(travelled(policies_json(given_)))) == given_


@pytest.mark.parametrize("never", [None, "never"])
def test_null_and_never_mean_no_limit(never: str | None) -> None:
    said = policies_of({"give_up_after": never, "max_duration": never, "retries": never})
    chosen = apply_options(policies_for(Every(interval=HOUR), {"max_duration": HOUR}), said)
    assert (chosen.give_up_after, chosen.max_duration, chosen.retry.attempts) == (None, None, None)


def test_null_for_a_required_value_is_ignored() -> None:
    said = {"missed": None, "overlap": None, "retry": None, "timeout": None, "guarantee": None, "priority": None}
    assert policies_of(said) == NO_OPTIONS


def test_only_given_policies_are_chosen() -> None:
    assert policies_of({}) == NO_OPTIONS
    assert policies_of({"timeout": "90s", "retries": 3}) == Options(timeout="90s", retries=3)
    assert policies_of({"missed": "latest within 1h"}) == Options(missed="latest within 1h")
    assert policies_of({"missed": {"mode": "all"}}) == Options(missed=MissedRequest("all"))
    assert policies_of({"retry": {"attempts": None, "backoff": 5}}) == Options(retry=RetryRequest(NEVER, 5))


@pytest.mark.parametrize(
    ("said", "missed", "retry"),
    [
        ({}, OWN.missed, OWN.retry),
        ({"missed": {"mode": "latest"}}, Missed("latest", 2 * HOUR, 7), OWN.retry),
        ({"missed": {"within": None}}, Missed("all", None, 7), OWN.retry),
        ({"missed": {"mode": "skip", "limit": 3}}, Missed("skip", 2 * HOUR, 3), OWN.retry),
        ({"retry": {}}, OWN.missed, OWN.retry),
        ({"retry": {"backoff": "5s"}}, OWN.missed, RetryPolicy(9, 5 * SECOND, 3.0, 2 * HOUR)),
        ({"retry": {"attempts": None}}, OWN.missed, RetryPolicy(None, MINUTE / 2, 3.0, 2 * HOUR)),
        ({"retry": {"max": "1d"}, "retries": 1}, OWN.missed, RetryPolicy(2, MINUTE / 2, 3.0, 24 * HOUR)),
    ],
)
def test_parts_of_a_policy_leave_its_other_parts_as_they_are(said: Any, missed: Missed, retry: RetryPolicy) -> None:
    task = a_task(policies=OWN)
    after = apply_edits(task, read_edits({"policies": said}), None, NOON).policies
    assert after == replace(OWN, missed=missed, retry=retry)


def test_partial_policy_of_a_new_task_is_merged_with_the_defaults() -> None:
    said = policies_of({"missed": {"mode": "all"}, "retry": {"backoff": "5s"}})
    assert apply_options(ONE_SHOT_POLICIES, said) == replace(
        ONE_SHOT_POLICIES, missed=Missed("all", None), retry=RetryPolicy(backoff=5 * SECOND)
    )


@pytest.mark.parametrize(
    "said",
    [
        {"missed": {}},
        {"missed": 7},
        {"missed": ["all"]},
        {"missed": {"mode": ["all"]}},
        {"missed": {"mode": "all", "within": []}},
        {"missed": {"mode": "all", "limit": None}},
        {"missed": {"mode": "all", "limit": "many"}},
        {"retry": 3},
        {"retry": {"backoff": None}},
        {"retry": {"attempts": "three"}},
        {"retry": {"factor": float("nan")}},
        {"retry": {"max": {}}},
        {"retries": -1},
        {"retries": True},
        {"retries": [3]},
        {"give_up_after": 0},
        {"give_up_after": {}},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": []},
        {"timeout": "soon"},
        {"max_duration": True},
        {"overlap": []},
        {"overlap": {"mode": "skip"}},
        {"guarantee": 1},
        {"priority": 1.5},
        {"priority": "high"},
    ],
)
def test_policies_that_do_not_fit_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        apply_options(DEFAULT_POLICIES, read_task({**SMALL, "policies": said}).options)


# --- edits -----------------------------------------------------------------------------------------------------------


def test_edit_json_has_changed_fields_only() -> None:
    assert read_edits({}) == Edits()
    edits = read_edits({"name": "n", "lane": None, "labels": {"a": "b"}, "payload": None, "policies": {"retries": 1}})
    assert edits == Edits(name="n", lane=None, labels={"a": "b"}, payload="null", options=Options(retries=1))
    assert edits.when is edits.target is KEEP
    assert read_edits({"http": "https://example.org"}).target == Target("http", '{"url": "https://example.org"}')
    assert read_edits({"target": None}).target is KEEP
    assert read_edits({"labels": None}).labels is None


@pytest.mark.parametrize("said", [{"key": "k"}, {"owner": "o"}, {"id": "tsk_1"}, {"state": "active"}, [], None, "name"])
def test_what_cannot_be_edited_is_refused(said: object) -> None:
    with pytest.raises(Refusal):
        read_edits(said)


# --- how it stands ---------------------------------------------------------------------------------------------------


def test_task_json_has_its_state() -> None:
    task = a_task(schedule=Every(interval=HOUR, zone="Asia/Tokyo"), labels=(("room", "a"),))
    standing = TaskStatus(
        TaskState.PAUSED,
        counted=3,
        failures=2,
        skips_left=1,
        last_result="done",
        pause=Pause(NOON, PauseCause.REQUESTED, "holiday", NOON + HOUR),
    )
    told = task_json(Facts(task, standing, (an_entry(task, state=EntryState.ASLEEP),)))
    assert (told["state"], told["counted"], told["failures"], told["skips_left"]) == ("paused", 3, 2, 1)
    assert told["pause"] == {
        "since": "2026-03-01T12:00:00.000Z",
        "cause": "requested",
        "note": "holiday",
        "until": "2026-03-01T13:00:00.000Z",
    }
    assert (told["next"], told["next_local"], told["last_result"]) == (None, None, "done")
    active = task_json(Facts(task, NEW_TASK_STATUS, (an_entry(task),)), "zh", an_ended_run(task))
    assert (active["next"], active["next_local"]) == ("2026-03-01T12:00:00.000Z", "2026-03-01T21:00:00.000+09:00")
    assert active["last"]["state"] == "succeeded"
    assert active["means"] != task_json(Facts(task, NEW_TASK_STATUS))["means"]
    assert travelled(active) == active


@pytest.mark.parametrize(
    ("state", "lane", "waits"),
    [
        (EntryState.TIMED, None, None),
        (EntryState.ASLEEP, None, None),
        (EntryState.HELD, None, "run"),
        (EntryState.PARKED, "press", "lane:press"),
        (EntryState.PARKED, "function:garden.water", "node:function:garden.water"),
        (EntryState.PARKED, "target:http", "node:target:http"),
    ],
)
def test_task_json_has_its_waiting_cause(state: EntryState, lane: str | None, waits: str | None) -> None:
    task = a_task()
    assert waiting_for(Facts(task, NEW_TASK_STATUS, (an_entry(task, state=state, lane=lane),))) == waits


def test_the_end_of_a_pause_or_a_deadline_is_no_run() -> None:
    task = a_task()
    others = [an_entry(task, slot=str(kind), kind=kind) for kind in (EntryKind.RESUME, EntryKind.DEADLINE)]
    assert next_due(Facts(task, NEW_TASK_STATUS, tuple(others))) is None
    soon = an_extra_entry(task, due=NOON + MINUTE)
    assert next_due(Facts(task, NEW_TASK_STATUS, (*others, soon, an_entry(task, due=NOON + HOUR)))) == NOON + MINUTE


def test_lengths_of_time_are_exact() -> None:
    odd = policies_for(
        Every(interval=HOUR), {"timeout": timedelta(microseconds=1_500), "max_duration": timedelta(days=400)}
    )
    assert apply_options(DEFAULT_POLICIES, policies_of(travelled(policies_json(odd)))) == odd


@given(words)
def test_payload_text_keeps_its_characters(word: str) -> None:
    assert json.loads(read_task({**SMALL, "payload": word}).payload) == word
