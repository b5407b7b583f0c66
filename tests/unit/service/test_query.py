"""The query language: filters, round trips, and refusals with a position."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.service.query.filters import narrow_run_filter, narrow_task_filter
from horae.service.query.parser import MAX_CHARACTERS, Term, parse_query, render_query

NOW: Final = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOVEMBER: Final = datetime(2026, 11, 1, tzinfo=UTC)
DAY: Final = timedelta(days=1)
TICK: Final = timedelta(microseconds=1)
TASKS: Final[dict[str, TaskFilter]] = {
    "": TaskFilter(),
    "   ": TaskFilter(),
    "report": TaskFilter(text="report"),
    "morning   report": TaskFilter(text="morning report"),
    '"morning  report, 9:00"': TaskFilter(text="morning  report, 9:00"),
    "report 12:30": TaskFilter(text="report 12:30"),
    "a - b": TaskFilter(text="a - b"),
    "早报:今天": TaskFilter(text="早报:今天"),
    r'"a \"b\" \\ c"': TaskFilter(text=r'a "b" \ c'),
    "text:report": TaskFilter(text="report"),
    "state:failed": TaskFilter(states=frozenset({TaskState.FAILED})),
    "STATE:failed,paused": TaskFilter(states=frozenset({TaskState.FAILED, TaskState.PAUSED})),
    "-state:failed,paused": TaskFilter(states=frozenset({TaskState.ACTIVE, TaskState.COMPLETED, TaskState.CANCELLED})),
    "is:failing is:failing": TaskFilter(failing=True),
    'name:"a, b"': TaskFilter(name="a, b"),
    "task:backup": TaskFilter(name="backup"),
    "lane:mail owner:ada kind:http prefix:tsk_1": TaskFilter("ada", lane="mail", kind="http", prefix="tsk_1"),
    "queue:mail tenant:ada target:http id:tsk_1": TaskFilter("ada", lane="mail", kind="http", prefix="tsk_1"),
    "label:team=ops tag:size=": TaskFilter(labels=(("size", ""), ("team", "ops"))),
    "label:a=1 label:a=1": TaskFilter(labels=(("a", "1"),)),
    "agent:robot via:mcp": TaskFilter(labels=(("horae/agent", "robot"), ("horae/via", "mcp"))),
    "state:active morning report label:a=b": TaskFilter(
        states=frozenset({TaskState.ACTIVE}), text="morning report", labels=(("a", "b"),)
    ),
}
RUNS: Final[dict[str, RunFilter]] = {
    "outcome:failed,lost": RunFilter(states=frozenset({RunState.FAILED, RunState.LOST})),
    "-state:succeeded": RunFilter(states=frozenset(RunState) - {RunState.SUCCEEDED}),
    "task:tsk_1 owner:ada": RunFilter("ada", "tsk_1"),
    "due:2026-11-01": RunFilter(since=NOVEMBER, until=NOVEMBER + DAY - TICK),
    "due:2026-11-01..2026-11-02": RunFilter(since=NOVEMBER, until=NOVEMBER + 2 * DAY - TICK),
    "planned:2026-11-01..": RunFilter(since=NOVEMBER),
    "due:..2026-11-01": RunFilter(until=NOVEMBER + DAY - TICK),
    "due:>=2026-11-01": RunFilter(since=NOVEMBER),
    "due:>2026-11-01": RunFilter(since=NOVEMBER + DAY),
    "due:<=2026-11-01": RunFilter(until=NOVEMBER + DAY - TICK),
    "due:<2026-11-01": RunFilter(until=NOVEMBER - TICK),
    "due:today..now": RunFilter(since=NOW - DAY / 2, until=NOW),
    'due:"yesterday 09:00".."5m ago"': RunFilter(
        since=NOW - DAY - timedelta(hours=3), until=NOW - timedelta(minutes=5)
    ),
    "due:2026-11-16T09:00Z": RunFilter(since=NOW - timedelta(hours=3), until=NOW - timedelta(hours=3)),
}
REFUSED_TASKS: Final[dict[str, tuple[str, int]]] = {
    "stat:active": ("unknown_query_key", 0),
    "x -colour:red": ("unknown_query_key", 3),
    "https://example.org": ("unknown_query_key", 0),
    "late:>5s": ("query_key_unanswered", 0),
    "due:today": ("query_key_unanswered", 0),
    "x -payload.user.id:7": ("query_key_unanswered", 3),
    "state:active,happy": ("bad_query", 13),
    "state:Active": ("bad_query", 6),
    "-state:active,paused,completed,failed,cancelled": ("bad_query", 7),
    "label:team": ("bad_query", 6),
    "label:=x": ("bad_query", 6),
    "name:a,b": ("query_no_or", 7),
    "label:a=1,b=2": ("query_no_or", 10),
    "-name:a": ("query_no_not", 0),
    "x -report": ("query_no_not", 2),
    "name:": ("query_unreadable", 5),
    "state:active, x": ("query_unreadable", 13),
    "state:,active": ("query_unreadable", 6),
    'x name:"a b': ("query_unreadable", 7),
    'x "': ("query_unreadable", 2),
    '""': ("query_unreadable", 0),
    "is:broken": ("bad_query", 3),
    "-is:failing": ("query_no_not", 0),
    "state:active state:paused": ("query_key_twice", 13),
    "name:a task:b": ("query_key_twice", 7),
    'report state:active "of today"': ("query_key_twice", 20),
    "x" * (MAX_CHARACTERS + 1): ("query_too_long", MAX_CHARACTERS),
}
REFUSED_RUNS: Final[dict[str, tuple[str, int]]] = {
    "late:>5s": ("query_key_unanswered", 0),
    "reason:missed": ("query_key_unanswered", 0),
    "lane:mail": ("query_key_unanswered", 0),
    "report": ("query_key_unanswered", 0),
    "outcom:failed": ("unknown_query_key", 0),
    "state:happy": ("bad_query", 6),
    "due:soonish": ("bad_query", 4),
    "due:..": ("bad_query", 4),
    "due:>": ("bad_query", 4),
    "due:2026-11-02..2026-11-01": ("bad_query", 4),
    "due:9999-12-31": ("bad_query", 4),
    "-due:today": ("query_no_not", 0),
    "due:today,yesterday": ("query_no_or", 10),
    "due:today planned:today": ("query_key_twice", 10),
}


@pytest.mark.parametrize("query", TASKS)
def test_task_query_is_parsed_into_a_filter(query: str) -> None:
    assert narrow_task_filter(TaskFilter(), query) == TASKS[query]


@pytest.mark.parametrize("query", RUNS)
def test_run_query_is_parsed_into_a_filter(query: str) -> None:
    assert narrow_run_filter(RunFilter(), query, "UTC", NOW) == RUNS[query]


def test_query_moments_are_read_in_the_zone() -> None:
    found = narrow_run_filter(RunFilter(), "due:2026-11-01", "Asia/Shanghai", NOW)
    assert found.since == NOVEMBER - timedelta(hours=8)


@pytest.mark.parametrize("query", REFUSED_TASKS)
def test_unknown_task_query_term_is_refused_with_its_position(query: str) -> None:
    with pytest.raises(Refusal) as caught:
        narrow_task_filter(TaskFilter(), query)
    assert (caught.value.code, caught.value.position) == REFUSED_TASKS[query]
    assert caught.value.source == query


@pytest.mark.parametrize("query", REFUSED_RUNS)
def test_unknown_run_query_term_is_refused_with_its_position(query: str) -> None:
    with pytest.raises(Refusal) as caught:
        narrow_run_filter(RunFilter(), query, "UTC", NOW)
    assert (caught.value.code, caught.value.position) == REFUSED_RUNS[query]


def test_refusal_suggests_the_nearest_term_first() -> None:
    for query, near in (("stat:active", "state"), ("lable:a=b", "label"), ("state:pasued", "paused")):
        with pytest.raises(Refusal) as caught:
            narrow_task_filter(TaskFilter(), query)
        assert f": {near}, " in caught.value.hint


def test_query_narrows_the_other_filters() -> None:
    ada = TaskFilter("ada", labels=(("a", "1"),))
    both = narrow_task_filter(ada, "state:failed label:b=2 report")
    assert both == TaskFilter("ada", frozenset({TaskState.FAILED}), labels=(("a", "1"), ("b", "2")), text="report")
    for base, query in ((ada, "owner:bob"), (TaskFilter(text="x"), "report"), (TaskFilter(name="x"), "task:x")):
        with pytest.raises(Refusal, match="twice"):
            narrow_task_filter(base, query)
    for runs in (RunFilter(since=NOW), RunFilter(until=NOW)):
        with pytest.raises(Refusal, match="twice"):
            narrow_run_filter(runs, "due:today", "UTC", NOW)


VALUES: Final = st.text(min_size=1, max_size=12)
KEYS: Final = st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True)
TERMS: Final = st.lists(
    st.builds(
        Term,
        KEYS,
        st.lists(VALUES, min_size=1, max_size=3).map(tuple),
        st.booleans(),
        st.just(0),
        st.just(()),
        st.just(value=False),
    ),
    max_size=6,
).map(tuple)


def _without_places(terms: tuple[Term, ...]) -> list[Any]:
    return [(term.key, term.values, term.negated) for term in terms]


@given(TERMS)
def test_query_survives_a_round_trip(terms: tuple[Term, ...]) -> None:
    assert _without_places(parse_query(render_query(terms))) == _without_places(terms)


@given(st.text(alphabet=st.one_of(st.sampled_from('stae:-,." \\=<>'), st.characters()), max_size=60))
def test_any_text_is_parsed_whole_or_refused_with_a_position(text: str) -> None:
    """Nothing is dropped: every letter that is no sign of the language is in some key or value."""
    try:
        terms = parse_query(text)
    except Refusal as refusal:
        assert refusal.position is not None
        assert 0 <= refusal.position <= len(text)
        return
    assert _without_places(parse_query(render_query(terms))) == _without_places(terms)
    told = "".join(term.key * (not term.is_bare) + "".join(term.values) for term in terms).lower()
    kept = [letter for letter in text if letter.isalnum()]
    assert all(letter.lower() in told for letter in kept)


@given(st.text(max_size=60))
def test_only_a_blank_query_matches_everything(text: str) -> None:
    """A filter that finds everything comes of nothing but spaces."""
    for narrow in (
        lambda: narrow_task_filter(TaskFilter(), text),
        lambda: narrow_run_filter(RunFilter(), text, "Europe/Berlin", NOW),
    ):
        try:
            found: Any = narrow()
        except Refusal:
            continue
        assert any(found) or not text.strip()
