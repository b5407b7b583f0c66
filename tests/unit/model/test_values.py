"""Small values: ids, instants, lanes, principals, reasons, refusals, states."""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta, timezone
from hashlib import blake2b
from itertools import islice, pairwise
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model import run as run_module
from horae.model import task as task_module
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.change import NOTHING, Change
from horae.model.entry import CLAIMABLE, EntryKind, EntryState, slot_for
from horae.model.ids import (
    ENTROPY_BYTES,
    EPOCH,
    SHORT_TASK_DIGITS,
    ascending_ids,
    from_microseconds,
    hash_fraction,
    is_id_prefix,
    make_id,
    occurrence_key,
    run_id,
    short_ids,
    to_microseconds,
)
from horae.model.lanes.lane import LaneUse, owner_lane
from horae.model.limits import shorten
from horae.model.page import Page
from horae.model.policy import DEFAULT_POLICIES
from horae.model.reason import SENTENCES, Reason, describe_reason
from horae.model.refusals import CATALOGUE, refuse
from horae.model.run import INITIAL_STATES, LIVE_STATES, Origin, Run, RunState, Span
from horae.model.task import NEW_TASK_STATUS, OPEN_STATES, Target, Task, TaskState, TaskStatus, past_of
from horae.schedule import Now, Past
from horae.typography import full_width

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
instants = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))


# --- names and instants ----------------------------------------------------------------------------------------------


@given(instants)
def test_an_instant_is_a_whole_number_of_microseconds(at: datetime) -> None:
    assert from_microseconds(to_microseconds(at)) == at
    assert to_microseconds(EPOCH) == 0


def test_an_instant_is_the_same_in_every_zone() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=8)))
    assert to_microseconds(elsewhere) == to_microseconds(NOON)


@given(instants, instants)
def test_names_are_ordered_by_time(one: datetime, other: datetime) -> None:
    earlier, later = sorted([max(one, EPOCH), max(other, EPOCH)])
    assert make_id("tsk", earlier, b"\xff" * ENTROPY_BYTES)[:16] <= make_id("tsk", later, b"\0" * ENTROPY_BYTES)[:16]
    assert run_id("tsk_1", Origin.SCHEDULED, earlier, 1)[:16] <= run_id("tsk_1", Origin.SCHEDULED, later, 1)[:16]


@given(st.integers())
def test_names_that_are_made_together_rise(seed: int) -> None:
    names = list(islice(ascending_ids("tsk", NOON, Random(seed).randbytes), 50))
    assert names == sorted(set(names))
    assert {len(name) for name in names} == {len(make_id("tsk", NOON, bytes(ENTROPY_BYTES)))}
    assert {name[:16] for name in names} == {make_id("tsk", NOON, bytes(ENTROPY_BYTES))[:16]}
    steps = [int(after[16:], 16) - int(before[16:], 16) for before, after in pairwise(names)]
    assert max(steps).bit_length() > 40, "the next id cannot be guessed"


def test_names_made_together_go_on_in_the_next_millisecond_when_the_randomness_is_used_up() -> None:
    names = list(islice(ascending_ids("tsk", NOON, lambda size: b"\xff" * size), 500))
    assert names == sorted(set(names))
    assert {len(name) for name in names} == {36}
    assert len({name[:16] for name in names}) == 4


@given(st.integers())
def test_a_short_prefix_tells_most_names_made_together_apart(seed: int) -> None:
    names = list(islice(ascending_ids("tsk", NOON, Random(seed).randbytes), 50))
    assert len({name[: 4 + SHORT_TASK_DIGITS] for name in names}) > 45


def test_short_ids_are_unique_prefixes_of_a_least_length() -> None:
    first, second, other = "run_" + "0" * 20 + "a" * 12, "run_" + "0" * 20 + "b" * 12, "run_" + "1" * 32
    assert short_ids([first, second, other]) == {first: first[:25], second: second[:25], other: "run_" + "1" * 12}
    assert short_ids([other], 16) == {other: "run_" + "1" * 16}
    assert short_ids([first, first]) == {first: first[:16]}
    assert short_ids([]) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run_01a1e71b04", True),
        ("run_01a1e71b", True),
        ("run_01a1e71", False),
        ("run_" + "0" * 31, True),
        ("run_" + "0" * 32, False),
        ("tsk_01a1e71b04", False),
        ("run_01a1e71bzz", False),
        ("run", False),
        (7, False),
        ("", False),
    ],
)
def test_a_shortened_id_has_a_kind_and_some_but_not_all_digits(text: object, expected: bool) -> None:  # noqa: FBT001
    assert is_id_prefix("run", text) is expected


def test_ids_are_unique_without_randomness() -> None:
    assert list(islice(ascending_ids("tsk", EPOCH - timedelta(days=1), bytes), 3)) == [
        f"tsk_{number:032x}" for number in range(3)
    ]


def test_a_name_has_a_prefix_and_eighty_bits_of_chance() -> None:
    name = make_id("tsk", NOON, bytes(range(ENTROPY_BYTES)))
    assert name == f"tsk_{int(NOON.timestamp() * 1000):012x}00010203040506070809"
    assert ENTROPY_BYTES * 8 == 80


def test_before_1970_names_are_still_names() -> None:
    assert make_id("tsk", EPOCH - timedelta(days=1), b"\1").startswith("tsk_000000000000")
    assert run_id("tsk_1", Origin.BACKFILL, EPOCH - timedelta(days=1), 1).startswith("run_000000000000")


def test_run_id_follows_from_its_identity() -> None:
    base = ("tsk_1", Origin.SCHEDULED, NOON, 1)
    others = [
        ("tsk_2", Origin.SCHEDULED, NOON, 1),
        ("tsk_1", Origin.MANUAL, NOON, 1),
        ("tsk_1", Origin.SCHEDULED, NOON + timedelta(microseconds=1), 1),
        ("tsk_1", Origin.SCHEDULED, NOON, 2),
    ]
    assert run_id(*base) == run_id(*base)
    assert len({run_id(*base), *(run_id(*other) for other in others)}) == 5


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tsk_1", "tsk_2"]),
            st.sampled_from([Origin.SCHEDULED, Origin.MANUAL]),
            st.sampled_from([NOON, NOON + timedelta(microseconds=1), EPOCH - timedelta(days=1)]),
            st.sampled_from([1, 2]),
        ),
        min_size=2,
    )
)
def test_run_ids_do_not_depend_on_those_made_before(identities: list[tuple[str, Origin, datetime, int]]) -> None:
    for task_id, origin, planned, attempt in identities:
        number = to_microseconds(planned)
        digest = blake2b(f"{task_id}/{origin}/{number}/{attempt}".encode(), digest_size=ENTROPY_BYTES).hexdigest()
        assert run_id(task_id, origin, planned, attempt) == f"run_{max(0, number // 1000):012x}{digest}"


def test_the_idempotency_key_is_the_same_for_every_attempt_and_for_no_other_occurrence() -> None:
    keys = {
        occurrence_key("tsk_1", Origin.SCHEDULED, NOON),
        occurrence_key("tsk_2", Origin.SCHEDULED, NOON),
        occurrence_key("tsk_1", Origin.MANUAL, NOON),
        occurrence_key("tsk_1", Origin.SCHEDULED, NOON + timedelta(microseconds=1)),
    }
    assert len(keys) == 4
    assert all(key.startswith("occ_") for key in keys)


@given(st.text())
def test_jitter_share_follows_from_the_id(name: str) -> None:
    assert 0 <= hash_fraction(name) < 1
    assert hash_fraction(name) == hash_fraction(name)


def test_slots_are_distinct_for_distinct_occurrences() -> None:
    slots = {slot_for(kind, origin, NOON) for kind in EntryKind for origin in Origin}
    assert len(slots) == len(EntryKind) * len(Origin)


# --- states ----------------------------------------------------------------------------------------------------------


def test_terminal_states_are_final() -> None:
    terminal = {state for state, following in run_module.TRANSITIONS.items() if not following}
    assert terminal == set(RunState) - LIVE_STATES
    assert terminal == {"succeeded", "failed", "timed_out", "lost", "cancelled", "skipped"}
    assert {"claimed", "running", "skipped"} == INITIAL_STATES


def test_every_state_has_its_transitions() -> None:
    assert set(run_module.TRANSITIONS) == set(RunState)
    assert set(task_module.TRANSITIONS) == set(TaskState)
    assert task_module.TRANSITIONS[TaskState.CANCELLED] == OPEN_STATES
    assert {TaskState.ACTIVE, TaskState.PAUSED} == OPEN_STATES


def test_only_timed_and_ready_entries_can_be_claimed() -> None:
    assert {EntryState.TIMED, EntryState.READY} == CLAIMABLE


@pytest.mark.parametrize("state", list(RunState))
def test_a_run_is_live_until_it_ends(state: RunState) -> None:
    run = Run("run_1", "tsk_1", "ada", Origin.SCHEDULED, NOON, NOON, 3, state, forgiven=1)
    assert run.live == (state in ("claimed", "running", "waiting"))
    assert run.tries == 2
    assert run.lateness is None
    assert run.value is None
    assert run._replace(result_json='{"sum":[1,2]}').value == {"sum": [1, 2]}
    assert run._replace(started=NOON + timedelta(seconds=2)).lateness == timedelta(seconds=2)


def test_result_of_a_run_is_the_value_that_was_returned() -> None:
    run = Run("run_1", "tsk_1", "ada", Origin.SCHEDULED, NOON, NOON, 1, RunState.SUCCEEDED)
    assert run.result is None
    assert run._replace(result_json='{"sum":[1,2]}').result == {"sum": [1, 2]}
    assert run._replace(result_json='{"sum":[1,').result == '{"sum":[1,'


def test_repr_of_a_run_names_state_instant_attempt_and_outcome() -> None:
    run = Run("run_1", "tsk_1", "ada", Origin.SCHEDULED, NOON, NOON, 2, RunState.RUNNING)
    assert repr(run) == f"<run run_1 running, planned {NOON:%Y-%m-%d %H:%M:%S} UTC, attempt 2>"
    assert repr(run._replace(state=RunState.SUCCEEDED, result_json="7")).endswith("attempt 2, result 7>")
    failed = run._replace(state=RunState.FAILED, reason=Reason.TARGET_FAILED, error="x" * 100)
    assert "failed (target_failed)" in repr(failed)
    assert repr(failed).endswith("x…'>")
    assert "3 occurrences" in repr(run._replace(span=Span(NOON, NOON, 3)))


def test_past_of_a_task() -> None:
    task = Task("tsk_1", "ada", "a task", Now(), Target("function", ""), "{}", DEFAULT_POLICIES, NOON)
    assert past_of(task, NEW_TASK_STATUS) == Past(NOON, 0, None)
    assert past_of(task, TaskStatus(counted=2, last_end=NOON)) == Past(NOON, 2, NOON)


def test_nothing_is_an_empty_change() -> None:
    assert Change() == NOTHING


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "taken", "full"), [(1, 0, False), (1, 1, True), (2, 1, False), (1, 2, True), (0, 0, True)]
)
def test_a_lane_is_full(limit: int, taken: int, *, full: bool) -> None:
    assert LaneUse("lane", limit, taken).is_full is full


def test_an_owner_has_a_lane() -> None:
    assert owner_lane("ada") == "owner:ada"


def test_an_admin_sees_all() -> None:
    assert LOCAL.owner_filter is None
    assert Principal("ada").owner_filter == "ada"


def test_a_page_ends() -> None:
    assert Page((1, 2)).after is None


def test_shortened() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_sentence_in_both_languages(reason: Reason) -> None:
    english, chinese = SENTENCES[reason]
    assert describe_reason(reason) == english
    assert describe_reason(reason, "zh") == full_width(chinese)
    assert english.endswith(".")
    assert chinese.endswith("。")


def test_no_reason_is_left_over() -> None:
    assert list(SENTENCES) == list(Reason)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_refusal_fills_in_its_facts(code: str) -> None:
    entry = CATALOGUE[code]
    texts = (entry.message, entry.hint, entry.message_zh, entry.hint_zh)
    names = {field for text in texts for _, field, _, _ in string.Formatter().parse(text) if field}
    refusal = refuse(code, **dict.fromkeys(names, "<fact>"))
    assert isinstance(refusal, Refusal)
    assert type(refusal) is entry.kind
    assert refusal.code == code
    for language in ("en", "zh"):
        told = refusal.in_language(language)
        assert "{" not in (told.message + told.hint).replace("{'source'", "").replace("{owner}", "").replace(
            "{agent}", ""
        ).replace("{label:x}", "")
        assert told.message
        assert told.hint


def test_hostile_facts_come_back_short_and_printable() -> None:
    refusal = refuse("no_such_task", id="\x1b[2J" + "x" * 10_000)
    assert len(refusal.message) < 120
    assert refusal.message.isprintable()
    assert refusal.facts["id"] == "\x1b[2J" + "x" * 10_000


def test_fact_without_repr_is_shown_by_its_type() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert refuse("no_such_task", id=deep).message == "There is no task 'list'."
    assert refuse("no_such_task", id=10**5_000).message == "There is no task 'int'."


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(milliseconds=1), "1ms"),
        (timedelta(seconds=90), "90s"),
        (timedelta(days=30), "30d"),
    ],
)
def test_a_refusal_spells_a_duration_as_it_is_typed(length: timedelta, text: str) -> None:
    assert f"cannot be '{text}'" in refuse("bad_duration", name="timeout", value=length, least="1ms", most="1d").message
