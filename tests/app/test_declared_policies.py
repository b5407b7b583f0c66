"""Every field of every policy that a function declares reaches tasks that other processes make of it."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from horae import Horae
from horae.clock import SystemClock
from horae.model.gate import Gate
from horae.model.policy import (
    DEFAULT_POLICIES,
    GUARANTEES,
    MISSED_MODES,
    OVERLAPS,
    RETRY_JITTERS,
    Missed,
    Notify,
    Policies,
    RetryPolicy,
)
from horae.service.events.message_client import MessageClient
from horae.service.tasks.functions.records import options_json, read_options
from horae.service.tasks.task_request import Options, apply_options, explicit_options
from horae.wire.tasks.policies import policies_json
from tests.api.api_server import serve_api
from tests.cli.command_line import Cli
from tests.unit.notifiers.recording_notifier import RecordingNotifier

DECLARED: Final[dict[str, Any]] = {
    "missed": Missed("all", timedelta(hours=3), 7),
    "overlap": "queue_all",
    "retry": RetryPolicy(6, timedelta(seconds=5), 3.0, timedelta(minutes=7), "none", superseded_by_next=False),
    "give_up_after": 4,
    "timeout": timedelta(seconds=45),
    "max_duration": timedelta(minutes=9),
    "guarantee": "at_most_once",
    "priority": 12,
    "notify_after": 2,
    "start_within": timedelta(minutes=11),
    "notify": Notify(("ops",), ("overdue", "succeeded")),
    "gate": Gate("function", '{"name":"exact"}', timedelta(seconds=7)),
    "where": {"gpu": "a100"},
    "lanes": ["press", "mail"],
}
"""Every policy with a value other than its default in every field."""
EXPECTED: Final = Policies(**{**DECLARED, "where": (("gpu", "a100"),), "lanes": ("press", "mail")})
MADE: Final = "press", policies_json(EXPECTED) | {"lanes": ["mail"]}
"""The lane and the policies of a task: the first of the lanes becomes its lane."""

spans = st.timedeltas(timedelta(seconds=1), timedelta(days=20))
policies = st.builds(
    Policies,
    missed=st.builds(
        Missed, st.sampled_from(MISSED_MODES), st.none() | spans, st.integers(min_value=1, max_value=10_000)
    ),
    overlap=st.sampled_from(OVERLAPS),
    retry=st.builds(
        RetryPolicy,
        st.none() | st.integers(min_value=1, max_value=1_000),
        spans,
        st.floats(min_value=1, max_value=100),
        spans,
        st.sampled_from(RETRY_JITTERS),
        st.booleans(),
    ),
    give_up_after=st.none() | st.integers(min_value=1, max_value=1_000),
    timeout=spans,
    max_duration=st.none() | spans,
    guarantee=st.sampled_from(GUARANTEES),
    priority=st.integers(min_value=-100, max_value=100),
    notify_after=st.integers(min_value=0, max_value=1_000),
    start_within=st.none() | spans,
    notify=st.sampled_from(
        (None, Notify(("ops", "me"), ("overdue",)), Notify(("ops",), ("succeeded",), "{horae.result}"))
    ),
    gate=st.sampled_from((None, Gate("command", '{"argv":["check"]}', state=False))),
    where=st.sampled_from(((), (("gpu", "a100"), ("zone", "b")))),
    lanes=st.sampled_from(((), ("press",), ("press", "mail"))),
)


def declaring(url: str) -> Horae:
    app = Horae(url, zone="UTC", engine=False)

    @app.task(name="exact", **DECLARED)
    async def exact() -> None: ...

    return app


def test_declaration_of_this_test_leaves_no_field_at_its_default() -> None:
    for policy, usual in (
        (EXPECTED, DEFAULT_POLICIES),
        (EXPECTED.retry, DEFAULT_POLICIES.retry),
        (EXPECTED.missed, DEFAULT_POLICIES.missed),
    ):
        assert [each.name for each in fields(policy) if getattr(policy, each.name) == getattr(usual, each.name)] == []


@given(policies)
def test_registered_policies_are_read_as_they_were_declared(declared: Policies) -> None:
    read = read_options(options_json(explicit_options(declared)))
    assert apply_options(DEFAULT_POLICIES, read) == declared


@given(policies)
def test_registered_policies_win_over_those_of_a_task_that_fires_once(declared: Policies) -> None:
    read = Options().merged_with(read_options(options_json(explicit_options(declared))))
    assert apply_options(EXPECTED, read) == declared


async def test_task_made_by_the_command_line_has_every_declared_policy(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    async with declaring(cli.url) as app:
        destinations = app.service.destinations
        destinations.client = MessageClient(app.service.secrets, RecordingNotifier(), SystemClock())
        await destinations.put(app.who, "ops", url="json://x/")
    made = cli("add", "every 1h", "--function", "exact", "--json").json["task"]
    assert (made["lane"], made["policies"]) == MADE


async def test_task_made_over_http_has_every_declared_policy() -> None:
    async with serve_api() as api:
        await api.put("/v1/destinations/ops", {"url": "json://x/"})
        app = declaring("memory://")
        await api.service.functions.register(app.who, app._registrations())
        made = (await api.request("POST", "/v1/tasks", {"name": "x", "when": "every 1h", "function": "exact"})).json
        assert (made["lane"], made["policies"]) == MADE
        listed = (await api.request("GET", "/v1/functions")).json["items"]
        (shown,) = [each for each in listed if each["name"] == "exact"]
        assert shown["defaults"]["policies"]["retry"]["jitter"] == "none"
