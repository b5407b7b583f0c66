"""Decisions about message streams: numbers, cursors, retention, pages, writes of a settlement."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.lifecycle.messages import (
    MAX_READERS,
    Ages,
    advance,
    append_messages,
    appended_event,
    check_usage,
    make_page,
    needs_usage,
    position_of,
    progress_change,
    register_reader,
    remove_old,
    with_writes,
)
from horae.model.change import Change
from horae.model.messages import (
    RUN_MESSAGES,
    Cursor,
    CursorMove,
    Gap,
    Message,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamState,
    StreamUsage,
    check_keep,
    check_message,
    check_reader,
    check_stream_name,
    check_writes,
    encode_references,
)
from horae.model.outcome import Cancelled, Failed, Skipped, Succeeded, TimedOut, Waiting
from horae.model.record import Record, RecordWrite
from horae.testing.factories import DAY, HOUR, NOON

EMPTY = Stream("ada", "chat", NOON)


def a_message(place: int, text: str = "hello") -> NewMessage:
    return NewMessage("chat", text, "Ada", "web", str(place), NOON)


def a_stream(first: int, last: int) -> Stream:
    return EMPTY._replace(first=first, last=last)


def test_a_repeated_message_has_the_first_number() -> None:
    append = append_messages(
        a_stream(1, 4), [a_message(1), a_message(2), a_message(2), a_message(3)], {("web", "1"): 2}
    )
    assert append.numbers == (2, 5, 5, 6)
    assert [message.number for message in append.added] == [5, 6]
    assert (append.stream.last, append.stream.bytes, append.stream.oldest) == (6, 14, None)
    assert append_messages(EMPTY, [a_message(1)], {}).stream.oldest == NOON


def test_the_event_says_which_numbers_are_new() -> None:
    event = appended_event(append_messages(EMPTY, [a_message(1), a_message(2)], {}), "tsk_1", "run_1")
    assert event is not None
    assert (json.loads(event.detail or ""), event.task_id) == ({"stream": "chat", "first": 1, "last": 2}, "tsk_1")
    assert appended_event(append_messages(EMPTY, [a_message(1)], {("web", "1"): 1})) is None


def test_usage_beyond_the_quota_is_refused() -> None:
    check_usage("ada", StreamUsage(1, 10), StreamQuota(1, 10))
    for usage, code in ((StreamUsage(2, 0), "too_many_message_streams"), (StreamUsage(1, 11), "messages_full")):
        with pytest.raises(Refusal) as refused:
            check_usage("ada", usage, StreamQuota(1, 10))
        assert refused.value.code == code
    check_usage("ada", StreamUsage(10**6, 10**15), StreamQuota(None, None))


def test_usage_is_summed_for_new_streams_and_for_each_step() -> None:
    grown = a_stream(1, 9)
    quota = StreamQuota(2, 3_200)  # a step has 100 bytes
    assert needs_usage(a_stream(1, 0), grown, quota)
    assert needs_usage(a_stream(1, 0), grown, StreamQuota(None, 10))
    assert not needs_usage(a_stream(1, 0), grown, StreamQuota(None, None))
    assert not needs_usage(grown._replace(bytes=100), grown._replace(bytes=199), quota)
    assert needs_usage(grown._replace(bytes=199), grown._replace(bytes=200), quota)
    assert not needs_usage(grown._replace(bytes=1), grown._replace(bytes=10**9), StreamQuota(2, None))
    assert needs_usage(grown._replace(bytes=1), grown._replace(bytes=2), StreamQuota(None, 10))


def test_an_append_beyond_the_quota_of_a_stream_is_refused() -> None:
    two = [a_message(1), a_message(2)]
    for quota, code in ((StreamQuota(messages=4), "stream_full"), (StreamQuota(text_bytes=2), "message_too_large")):
        with pytest.raises(Refusal) as refused:
            append_messages(a_stream(1, 3), two, {}, quota)
        assert refused.value.code == code
        # A repetition adds nothing.
        append_messages(a_stream(1, 3), two, {message.identity: 1 for message in two}, quota)
    append = append_messages(a_stream(1, 3), two, {}, StreamQuota(messages=5, text_bytes=100))
    assert append.stream.last == 5


@pytest.mark.parametrize(
    ("number", "acknowledged", "expected"),
    [
        (0, (), 2),
        (0, ((3, 3),), 3),
        (2, ((4, 4),), 2),
        (3, ((3, 5), (7, 7)), 5),
        (3, ((7, 7), (4, 6)), 7),
        (8, ((1, 9),), 9),
        (8, ((9, 99),), 10),
        (9, ((1, 4),), 9),
    ],
)
def test_a_cursor_moves_over_acknowledged_numbers_without_a_hole(
    number: int, acknowledged: tuple[tuple[int, int], ...], expected: int
) -> None:
    assert advance(a_stream(3, 10), number, acknowledged) == expected


numbers = st.integers(0, 12)
ranges = st.lists(st.tuples(numbers, numbers), max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numbers, numbers, numbers, ranges)
def test_moves_never_go_back_or_over_an_unacknowledged_message(
    first: int, last: int, number: int, acknowledged: list[tuple[int, int]]
) -> None:
    stream = a_stream(first + 1, max(first, last))
    number = min(number, stream.last)
    moved = advance(stream, number, acknowledged)
    assert number <= moved <= max(number, stream.last)
    for each in range(number + 1, moved + 1):
        assert each < stream.first or any(low <= each <= high for low, high in acknowledged)
    following = moved + 1
    if stream.first <= following <= stream.last:
        assert not any(low <= following <= high for low, high in acknowledged)


def test_a_reader_is_registered_once_and_within_the_stream() -> None:
    known = Cursor("a", 2, NOON)
    state = StreamState(a_stream(1, 5), (known,))
    assert register_reader(state, "a", 4, NOON + HOUR) == known
    assert register_reader(state, "b", None, NOON).number == 5
    assert register_reader(state, "b", 99, NOON).number == 5
    full = state._replace(cursors=tuple(Cursor(str(place), 0, NOON) for place in range(MAX_READERS)))
    for crowded, quota in ((full, StreamQuota(readers=None)), (state, StreamQuota(readers=1))):
        with pytest.raises(Refusal) as refused:
            register_reader(crowded, "b", 0, NOON, quota)
        assert refused.value.code == "too_many_readers"


def test_the_position_of_a_reader_is_that_of_its_cursor() -> None:
    state = StreamState(a_stream(1, 5), (Cursor("a", 2, NOON), Cursor("b", 4, NOON)))
    assert (position_of(state, "b"), position_of(state, "c")) == (4, None)


def test_retention_removes_what_is_read_and_old_enough() -> None:
    state = StreamState(a_stream(1, 10), (Cursor("a", 6, NOON), Cursor("b", 4, NOON)))
    assert remove_old(state, Ages(3, 0), 100, 50, NOON) == (3, ())
    assert remove_old(state, Ages(9, 0), 100, 50, NOON) == (4, ())
    assert remove_old(state, Ages(9, 0), 100, 2, NOON) == (2, ())
    assert remove_old(state, Ages(0, 0), 100, 50, NOON) == (0, ())


def test_unread_messages_beyond_a_cap_leave_one_gap() -> None:
    state = StreamState(a_stream(1, 10), (Cursor("a", 2, NOON),), (Gap(1, 2, NOON),))
    removal = remove_old(state, Ages(0, 0), 6, 50, NOON + HOUR)
    assert tuple(removal) == (4, (Gap(3, 4, NOON + HOUR),)), "the older gap is passed"
    merged = remove_old(StreamState(a_stream(5, 10), (), removal.gaps), Ages(0, 7), 100, 50, NOON + DAY)
    assert merged == (7, (Gap(3, 7, NOON + DAY),))
    assert merged[1][0].length == 5
    apart = remove_old(StreamState(a_stream(8, 10), (), (Gap(1, 2, NOON),)), Ages(0, 8), 100, 50, NOON)
    assert apart == (8, (Gap(1, 2, NOON), Gap(8, 8, NOON)))


def test_a_page_ends_at_its_bytes_and_shows_the_gaps_behind_it() -> None:
    stored = [Message("ada", number, a_message(number)) for number in range(5, 9)]
    state = StreamState(a_stream(5, 9), (), (Gap(1, 2, NOON), Gap(4, 4, NOON)))
    page = make_page(state, 1, stored, 2)
    assert ([each.number for each in page.messages], page.next_after) == ([5, 6], 6)
    assert page.gaps == (Gap(2, 2, NOON), Gap(4, 4, NOON))
    assert len(make_page(state, 1, stored, 9, most_bytes=1).messages) == 1
    assert make_page(state, 9, [], 9).next_after is None


@pytest.mark.parametrize("outcome", [Succeeded(), Skipped(), Waiting(NOON)])
def test_writes_of_a_run_that_did_its_work_are_attached(outcome: Any) -> None:
    writes = RunWrites(
        (RecordWrite(Record("a", "b", "", "{}")),),
        (a_message(1),),
        (CursorMove("chat", "r", (), NOON),),
        StreamQuota(3),
    )
    change = with_writes(Change(), outcome, writes)
    assert (change.attached, change.messages, change.moves) == writes[:3]
    assert change.stream_quota == writes.quota == StreamQuota(3)
    (move,) = change.moves
    assert progress_change(writes, "run_1") == change._replace(moves=(move._replace(run_id="run_1"),))
    assert with_writes(Change(), outcome, None) == Change()


@pytest.mark.parametrize("outcome", [Failed("no"), TimedOut(), Cancelled()])
def test_writes_of_a_run_that_failed_are_dropped(outcome: Any) -> None:
    assert with_writes(Change(), outcome, RunWrites((), (a_message(1),))) == Change()


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", ".", "..", "x" * 201, "a\u200bb", 7])
def test_names_of_streams_are_visible_and_fit_into_a_path(name: Any) -> None:
    with pytest.raises(Refusal):
        check_stream_name(name)
    with pytest.raises(Refusal):
        check_reader(name)
    assert (check_stream_name("chat:120@g.us"), check_reader("handled")) == ("chat:120@g.us", "handled")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": ""}, "empty_message"),
        ({"text": "x" * 65_537}, "message_too_large"),
        ({"text": "漢" * 21_846}, "message_too_large"),
        ({"text": "a\0"}, "unstorable_message"),
        ({"text": "\ud800"}, "unstorable_message"),
        ({"sender": ""}, "bad_text"),
        ({"source": "x" * 101}, "bad_text"),
        ({"source_id": "\n"}, "bad_text"),
    ],
)
def test_a_message_that_no_store_could_keep_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_message(a_message(1)._replace(**fields))
    assert refused.value.code == code
    check_message(a_message(1)._replace(text="", references='["a"]'))


@pytest.mark.parametrize("references", [{}, "text", [1] * 65, ["x" * 20_000], [float("nan")], [object()], ["\0"]])
def test_references_are_a_bounded_list(references: Any) -> None:
    with pytest.raises(Refusal) as refused:
        encode_references(references)
    assert refused.value.code == "bad_references"
    assert encode_references([{"url": "漢"}]) == '[{"url":"漢"}]'


def test_caps_and_writes_have_bounds() -> None:
    check_keep(None, None)
    check_keep(5, DAY)
    for keep, keep_for in ((0, None), (None, timedelta(0)), (None, 4_000 * DAY), (None, 5)):
        with pytest.raises(Refusal):
            check_keep(keep, keep_for)
    check_writes(RunWrites((), (a_message(1),)))
    with pytest.raises(Refusal) as refused:
        check_writes(RunWrites((), (a_message(1),) * (RUN_MESSAGES + 1)))
    assert refused.value.code == "too_many_writes"
    with pytest.raises(Refusal):
        check_writes(RunWrites((), (a_message(1, ""),)))
