"""Cache of rendered task JSON: every answer equals that of `task_json`, whatever was rendered before."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, get_args

import pytest

from horae.api import task_json_cache
from horae.api.task_json_cache import encode_task
from horae.choices import Language
from horae.model.change import Facts
from horae.model.entry import EntryState
from horae.model.lanes.route import place_entry
from horae.model.policy import Policies
from horae.model.reason import Reason
from horae.model.task import NEW_TASK_STATUS, TaskState
from horae.testing.factories import NOON, a_run, a_task, an_entry
from horae.web.responses import encode_json
from horae.wire.tasks.task import task_json

TASK: Final = a_task()
FACTS: Final = Facts(TASK, NEW_TASK_STATUS, (an_entry(TASK),), ())
CHANGED: Final = [
    FACTS._replace(task=TASK._replace(name="other", version=2)),
    FACTS._replace(task=TASK._replace(payload='{"n": 1}')),
    FACTS._replace(status=FACTS.status._replace(counted=7)),
    FACTS._replace(status=FACTS.status._replace(state=TaskState.COMPLETED, ended=NOON)),
    FACTS._replace(status=FACTS.status._replace(last_result="done")),
    FACTS._replace(entries=()),
    FACTS._replace(entries=(an_entry(TASK, due=NOON + timedelta(hours=3)),)),
    FACTS._replace(entries=(an_entry(TASK)._replace(state=EntryState.HELD),)),
    FACTS._replace(live=(a_run(TASK),)),
    FACTS._replace(block_reason=Reason.OWNER_REVOKED),
]


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_json_cache, "_cache", {})


@pytest.mark.parametrize("changed", CHANGED)
def test_change_of_a_cached_task_is_rendered(changed: Facts) -> None:
    for language in get_args(Language):
        for facts in (FACTS, FACTS, changed, changed, FACTS):
            assert encode_task(facts, language, now=NOON) == encode_json(task_json(facts, language, now=NOON))


def test_entry_in_the_queue_of_a_route_waits_from_its_due_instant_on() -> None:
    task = a_task(policies=Policies(where=(("gpu", "a100"),)))
    facts = FACTS._replace(task=task, entries=(place_entry(task, an_entry(task, due=NOON + timedelta(hours=1))),))
    for hours, waiting in ((0, b"null"), (2, b'"node:'), (0, b"null")):
        encoded = encode_task(facts, "en", now=NOON + timedelta(hours=hours))
        assert b'"waiting_for":' + waiting in encoded


def test_last_run_is_never_taken_from_the_cache() -> None:
    runs = [a_run(TASK), a_run(TASK, planned=NOON + timedelta(hours=1))]
    for last in (None, runs[0], runs[1], None, runs[0]):
        assert encode_task(FACTS, "en", last, now=NOON) == encode_json(task_json(FACTS, "en", last, now=NOON))


def test_unchanged_task_is_rendered_once() -> None:
    first = encode_task(FACTS, "en", now=NOON)
    assert encode_task(FACTS, "en", now=NOON) is first


def test_number_of_cached_tasks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_json_cache, "_MAX_CACHED_TASKS", 3)
    tasks = [a_task() for _ in range(10)]
    for task in tasks:
        encode_task(FACTS._replace(task=task), "en", now=NOON)
    assert [key for key, _ in task_json_cache._cache] == [task.id for task in tasks[-3:]]


def test_large_task_is_not_cached() -> None:
    large = TASK._replace(payload='"' + "x" * 5_000 + '"')
    encode_task(FACTS._replace(task=large), "en", now=NOON)
    assert not task_json_cache._cache
