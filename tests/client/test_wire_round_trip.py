"""Wire format round trips: values that a server encodes are decoded by the client unchanged and render the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.choices import Language
from horae.model.change import Facts
from horae.model.entry import Entry, EntryKind, EntryState, slot_for
from horae.model.events.event import EventKind, NumberedEvent
from horae.model.lanes.lane import LaneUse
from horae.model.lanes.rate import Rate
from horae.model.outcome import Failed
from horae.model.policy import Missed, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import LIVE_STATES, Origin, Run, RunState, Span
from horae.model.task import Pause, PauseCause, Task, TaskPast, TaskState, TaskStatus
from horae.ports.journal import Line, NumberedLine
from horae.service.tasks.edits import KEEP, Edits, apply_edits
from horae.service.tasks.task_request import NEVER, MissedRequest, Options, RetryRequest, TaskRequest, request_of
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND, a_node, a_run, a_task, an_event
from horae.wire.agenda import agenda_json
from horae.wire.overview import (
    event_json,
    lane_json,
    node_json,
    overview_json,
    read_event,
    read_lane,
    read_node,
    read_overview,
)
from horae.wire.runs import line_json, read_line, read_run, run_json
from horae.wire.tasks.facts import read_definition, read_facts
from horae.wire.tasks.requests import edits_json, options_json, task_request_json
from horae.wire.tasks.task import read_edits, read_task, task_json
from tests.unit.service.service_harness import ROOT, ServiceHarness
from tests.unit.wire.strategies import json_values, made, tasks, words

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
PATIENT: Final = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
instants = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
maybe = st.none() | instants
texts = words | st.just("")
reasons = st.none() | st.sampled_from(list(Reason))


def round_trip(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))


@st.composite
def runs(draw: st.DrawFn, task: Task, states: tuple[RunState, ...] = tuple(RunState)) -> Run:
    planned = draw(instants)
    span = st.builds(Span, instants, instants, st.integers(1, 9))
    return a_run(
        task,
        planned=planned,
        attempt=draw(st.integers(1, 9)),
        origin=draw(st.sampled_from(list(Origin))),
        due=draw(instants),
        state=draw(st.sampled_from(states)),
        reason=draw(reasons),
        node=draw(st.none() | words),
        started=draw(maybe),
        ended=draw(maybe),
        span=draw(st.none() | span),
        cancel=draw(reasons),
        lanes=tuple(draw(st.lists(words, max_size=2))),
        result_json=draw(st.none() | json_values.map(json.dumps) | st.just('{"cut": [1,')),
        error=draw(st.none() | texts),
    )


@st.composite
def task_statuses(draw: st.DrawFn) -> TaskStatus:
    pause = st.builds(Pause, instants, st.sampled_from(list(PauseCause)), texts, maybe)
    return TaskStatus(
        state=draw(st.sampled_from(list(TaskState))),
        counted=draw(st.integers(0, 99)),
        failures=draw(st.integers(0, 9)),
        skips_left=draw(st.integers(0, 9)),
        last_end=draw(maybe),
        last_result=draw(st.none() | texts),
        pause=draw(st.none() | pause),
        reason=draw(reasons),
        ended=draw(maybe),
    )


@st.composite
def entries(draw: st.DrawFn, task: Task) -> Entry:
    kind, origin, planned = draw(st.sampled_from(EntryKind)), draw(st.sampled_from(Origin)), draw(instants)
    return Entry(
        task.id,
        slot_for(kind, origin, planned),
        kind,
        draw(instants),
        planned,
        task.owner,
        priority=draw(st.integers(-9, 9)),
        state=draw(st.sampled_from(EntryState)),
        origin=origin,
        attempt=draw(st.integers(1, 9)),
        through=draw(maybe),
        span=draw(st.none() | st.builds(Span, instants, instants, st.integers(1, 9))),
        waited=draw(st.booleans()),
        in_order=draw(st.booleans()),
        lane=draw(st.none() | words),
        run_id=draw(st.none() | words),
    )


@st.composite
def all_facts(draw: st.DrawFn) -> Facts:
    task = draw(tasks())._replace(version=draw(st.integers(1, 99)), created=draw(instants))
    return Facts(
        task,
        draw(task_statuses()),
        tuple(draw(st.lists(entries(task), max_size=3))),
        tuple(draw(st.lists(runs(task, tuple(LIVE_STATES)), max_size=2))),
        tuple(
            draw(
                st.lists(
                    st.builds(
                        LaneUse,
                        words,
                        st.integers(0, 9),
                        st.integers(0, 9),
                        st.just(0),
                        st.just(value=False),
                        st.just(()),
                        st.sampled_from((None, Rate(100, timedelta(seconds=1)), Rate(1, timedelta(days=366)))),
                        st.none(),
                        st.sampled_from((None, NOON)),
                    ),
                    max_size=2,
                )
            )
        ),
        draw(reasons),
    )


def visible_to_clients(run: Run) -> Run:
    """Return the run as a client decodes it: without the fields of the engine, and with its result encoded again."""
    same = run.span == Span(run.planned, run.planned, 1)
    encoded = run_json(run)["result"]
    result = None if encoded is None else json.dumps(encoded, ensure_ascii=False)
    return run._replace(token=0, claimed=None, result_json=result, span=None if same else run.span)


@PATIENT
@given(all_facts())
def test_task_with_its_agenda_round_trips(facts: Facts) -> None:
    encoded = round_trip({**task_json(facts), "agenda": agenda_json(facts)})
    again = read_facts(encoded)
    assert again == facts._replace(live=tuple(map(visible_to_clients, facts.live)))


@PATIENT
@given(all_facts(), st.data())
def test_task_without_its_agenda_renders_the_same_after_a_round_trip(facts: Facts, data: st.DataObject) -> None:
    last = data.draw(st.none() | runs(facts.task))
    encoded = round_trip(task_json(facts, "en", last, 3))
    again = read_facts(encoded)
    assert read_definition(encoded) == facts.task
    for language in LANGUAGES:
        assert task_json(again, language, last, 3) == task_json(facts, language, last, 3)


def test_unknown_fields_of_a_newer_server_are_ignored() -> None:
    facts = Facts(a_task(), TaskStatus())
    encoded = round_trip(task_json(facts))
    assert read_facts(encoded | {"surprise": [1]}) == read_facts(encoded)


@PATIENT
@given(st.data())
def test_runs_round_trip_and_render_the_same(data: st.DataObject) -> None:
    run = data.draw(runs(a_task()))
    again = read_run(round_trip(run_json(run)))
    assert again == visible_to_clients(run)
    for language in LANGUAGES:
        assert run_json(again, "water", "Asia/Tokyo", language) == run_json(run, "water", "Asia/Tokyo", language)


def test_lines_events_lanes_and_nodes_round_trip() -> None:
    line = NumberedLine(7, Line("run_1", NOON, "info", "浇花"))
    assert read_line(round_trip(line_json(line))) == line
    for kind in EventKind:
        event = NumberedEvent(9, an_event(a_task(), kind=kind, run_id="run_1", detail="because"))
        assert read_event(round_trip(event_json(event))) == event
    lane = LaneUse("press", 3, 1)
    assert read_lane(round_trip(lane_json(lane))) == lane
    node = a_node(host="here", load=1, capacity=2, offset=timedelta(microseconds=-1_500), draining=True)
    assert read_node(round_trip(node_json(node))) == node


async def test_overview_round_trips() -> None:
    harness = ServiceHarness()
    await harness.add(options=Options(retries=0, give_up_after=1), lane="press")
    await harness.add("every 30m", name="next", zone="Asia/Tokyo")
    harness.advance(31 * MINUTE)
    await harness.claim()
    await harness.run_due(29 * MINUTE, Failed("no"))
    found = await harness.service.overview.now(ROOT)
    assert found.upcoming
    assert found.needs
    encoded = overview_json(found)
    assert overview_json(read_overview(round_trip(encoded))) == encoded


@PATIENT
@given(tasks())
def test_task_request_round_trips(task: Task) -> None:
    request = request_of(task)
    assert made(read_task(round_trip(task_request_json(request))), task) == task


def test_request_without_a_zone_gets_the_zone_of_the_caller() -> None:
    request = TaskRequest("water", "every day at 9:00", a_task().target)
    assert task_request_json(request, "Asia/Tokyo")["zone"] == "Asia/Tokyo"
    assert task_request_json(request._replace(zone="Europe/Berlin"), "Asia/Tokyo")["zone"] == "Europe/Berlin"
    assert task_request_json(request._replace(when=NOON))["when"] == {"kind": "once", "at": "2026-03-01T12:00:00Z"}
    assert task_request_json(request)["payload"] == {}
    past = TaskPast(NOON, 3, NOON, None)
    assert read_task(round_trip(task_request_json(request._replace(past=past)))).past == past


def test_options_are_encoded_field_by_field() -> None:
    chosen = Options(
        missed=MissedRequest("latest", NEVER),
        retries=NEVER,
        retry=RetryRequest(backoff=SECOND),
        timeout="2m",
        max_duration=NEVER,
        give_up_after=3,
        overlap="queue",
    )
    assert options_json(chosen) == {
        "missed": {"mode": "latest", "within": None},
        "retries": None,
        "retry": {"backoff": "PT1S"},
        "timeout": "2m",
        "max_duration": None,
        "give_up_after": 3,
        "overlap": "queue",
    }
    whole = Options(missed=Missed("all", HOUR, 7), retry=RetryPolicy(None, MINUTE, 2.0, HOUR))
    assert options_json(whole) == {
        "missed": {"mode": "all", "within": "PT1H", "limit": 7},
        "retry": {
            "attempts": None,
            "backoff": "PT1M",
            "factor": 2.0,
            "max": "PT1H",
            "jitter": "full",
            "superseded_by_next": True,
        },
    }


def test_edits_round_trip() -> None:
    task = a_task(lane="press", labels=(("a", "b"),))
    edits = Edits(
        name="new",
        when="every 5m",
        zone="Asia/Tokyo",
        target=read_task({"name": "n", "when": "now", "say": "x"}).target,
        payload="null",
        lane=None,
        labels={"c": "d"},
        options=Options(timeout=SECOND),
    )
    decoded = read_edits(round_trip(edits_json(edits)))
    assert apply_edits(task, decoded, None, NOON) == apply_edits(task, edits, None, NOON)
    assert edits_json(Edits()) == {}
    assert read_edits(edits_json(Edits(lane=None))).lane is None
    assert read_edits(edits_json(Edits(name="x"))).lane is KEEP
