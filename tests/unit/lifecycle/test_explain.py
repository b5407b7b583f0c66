"""`why`: every verdict, in both languages, from the ledger, the agenda and the schedule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

import pytest

from horae.lifecycle.control.control import resume
from horae.lifecycle.control.pause import can_start_again
from horae.lifecycle.explain.explanation import (
    _SENTENCES,
    Explanation,
    RunningNodes,
    Verdict,
    explain,
    explain_paused_row,
    with_end,
    with_pause,
)
from horae.model.accounts.principal import AGENT_LABEL
from horae.model.lanes.route import place_entry
from horae.model.outcome import Cancelled, Failed, Succeeded, Waiting
from horae.model.pauses import (
    AGENT_STOPPED_NOTE,
    ALL_STOPPED_NOTE,
    GROUP_STOPPED_NOTE,
    PAUSED_SPAN_KIND,
    parse_paused_span,
)
from horae.model.policy import Missed, RetryPolicy
from horae.model.reason import Reason, describe_reason
from horae.model.task import PauseCause, Target, TaskState
from horae.schedule import Every, Once, Schedule
from tests.unit.lifecycle.task_world import HOUR, MINUTE, SECOND, World, hour


def why(world: World, at: datetime) -> Explanation:
    return explain(world.facts, tuple(world.runs.values()), at, world.now)


def succeeded() -> World:
    world = World().claim_at(hour(13) + 2 * SECOND)
    world.settle()
    return world


def failed() -> World:
    world = World(retry=RetryPolicy(1)).claim_at(hour(13))
    world.fail()
    return world


def going() -> World:
    return World().claim_at(hour(13))


def stretch() -> World:
    return World(missed=Missed("skip")).claim_at(hour(15.5))


def merged_run() -> World:
    return World(missed=Missed("merge")).claim_at(hour(15.5))


def never_started() -> World:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.cancel_run()
    world.settle(Cancelled())
    return world


def held() -> World:
    return World(overlap="queue_all").claim_at(hour(13)).claim_at(hour(14)).claim_at(hour(15))


def held_stretch() -> World:
    return World(overlap="queue", missed=Missed("merge")).claim_at(hour(13)).claim_at(hour(15.5))


def parked() -> World:
    world = World(lane="lane")
    world.others = 1
    return world.claim_at(hour(13)).at(hour(15.5))


def stranded() -> World:
    world = World().at(hour(13))
    world.strand()
    return world.at(hour(15.5))


def paused() -> World:
    world = World().at(hour(12.5))
    world.pause(note="holiday")
    return world.at(hour(15.5))


def paused_until() -> World:
    world = World().at(hour(12.5))
    world.pause(until=hour(14))
    return world


def overdue() -> World:
    return World().at(hour(15.5))


def completed() -> World:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    world.settle()
    return world.at(hour(20))


def cancelled() -> World:
    world = World().at(hour(13.5))
    world.cancel()
    return world.at(hour(20))


def forgotten() -> World:
    world = succeeded()
    world.runs.clear()
    return world.at(hour(13.5))


def retry_only() -> World:
    """The rows are older than the history that is kept, the retry is due."""
    world = World(retry=RetryPolicy(None, HOUR, max=HOUR)).claim_at(hour(13))
    world.fail(retry_after=MINUTE)
    world.runs.clear()
    return world.advance(MINUTE)


@pytest.mark.parametrize(
    ("world", "at", "verdict", "english"),
    [
        (succeeded, hour(13), Verdict.RAN, "It ran: succeeded. It started 2.000 s after it was due."),
        (failed, hour(13), Verdict.RAN, "It ran: failed. It started 0.000 s after it was due. The target ran and failed."),
        (going, hour(13), Verdict.RUNNING, "It is running now."),
        (merged_run, hour(14), Verdict.RUNNING, "It is running now."),
        (stretch, hour(14), Verdict.SKIPPED, "It was not run. " + describe_reason(Reason.MISSED_SKIPPED)),
        (never_started, hour(13), Verdict.SKIPPED, "It was not run. It was cancelled."),
        (held, hour(14), Verdict.WAITING, "It is due and waits: an earlier run of the task is still going."),
        (held, hour(15), Verdict.WAITING, "It is due and waits: an earlier run of the task is still going."),
        (held_stretch, hour(14), Verdict.WAITING, "It is due and waits: an earlier run of the task is still going."),
        (parked, hour(13), Verdict.WAITING, "It is due and waits: its lane 'lane' is full."),
        (parked, hour(15), Verdict.WAITING, "It is due and waits: its lane 'lane' is full."),
        (stranded, hour(13), Verdict.WAITING, "It is due and waits: no running node has its target ''."),
        (
            retry_only,
            hour(13),
            Verdict.OVERDUE,
            "It is due and has not been claimed yet: no engine is running, or all are busy.",
        ),
        (paused, hour(13), Verdict.PAUSED, "The task has been paused since 2026-03-01 12:30 +00:00 (holiday)."),
        (paused, hour(15), Verdict.PAUSED, "The task has been paused since 2026-03-01 12:30 +00:00 (holiday)."),
        (paused, hour(17), Verdict.PAUSED, "The task has been paused since 2026-03-01 12:30 +00:00 (holiday)."),
        (paused_until, hour(13), Verdict.PAUSED, "The task has been paused since 2026-03-01 12:30 +00:00. It goes on at 2026-03-01 14:00 +00:00."),
        (paused_until, hour(14), Verdict.PENDING, "It is still to come: 2026-03-01 14:00 +00:00."),
        (going, hour(14), Verdict.PENDING, "It is still to come: 2026-03-01 14:00 +00:00."),
        (going, hour(18), Verdict.PENDING, "It is still to come: 2026-03-01 18:00 +00:00."),
        (overdue, hour(13), Verdict.OVERDUE, "It is due and has not been claimed yet: no engine is running, or all are busy."),
        (overdue, hour(15), Verdict.OVERDUE, "It is due and has not been claimed yet: no engine is running, or all are busy."),
        (overdue, hour(13.5), Verdict.NOT_PLANNED, "The schedule has no occurrence then; the nearest later one is 2026-03-01 14:00 +00:00."),
        (held, hour(14.5), Verdict.NOT_PLANNED, "The schedule has no occurrence then; the nearest later one is 2026-03-01 15:00 +00:00."),
        (overdue, hour(11), Verdict.NOT_CREATED, "The task was created only at 2026-03-01 12:00 +00:00."),
        (completed, hour(14), Verdict.OVER, "The task is completed, so nothing of it starts any more."),
        (cancelled, hour(14), Verdict.OVER, "The task is cancelled, so nothing of it starts any more."),
        (cancelled, hour(13), Verdict.SKIPPED, "It was not run. It was cancelled."),
        (forgotten, hour(13), Verdict.FORGOTTEN, "It was accounted for, but its row is older than the history that is kept."),
    ],
)  # fmt: skip
def test_why(world: Callable[[], World], at: datetime, verdict: Verdict, english: str) -> None:
    answer = why(world(), at)
    assert (answer.verdict, answer.english, str(answer)) == (verdict, english, english)
    assert answer.in_language("en") == english
    assert answer.in_language("zh") == answer.chinese
    assert any("一" <= letter <= "鿿" for letter in answer.chinese)
    assert "{" not in answer.english + answer.chinese


@pytest.mark.parametrize(
    ("world", "at", "chinese"),
    [
        (succeeded, hour(13), "它运行了：成功。它在到期后 2.000 秒启动。"),
        (failed, hour(13), "它运行了：失败。它在到期后 0.000 秒启动。" + describe_reason(Reason.TARGET_FAILED, "zh")),
        (completed, hour(14), "任务已处于“完成”状态，不会再启动。"),
        (cancelled, hour(14), "任务已处于“取消”状态，不会再启动。"),
    ],
)
def test_states_are_chinese_in_chinese(world: Callable[[], World], at: datetime, chinese: str) -> None:
    assert why(world(), at).chinese == chinese


def test_nothing_is_planned_any_more() -> None:
    world = World(Once(at=hour(13)))
    assert why(world, hour(14)).english == "The schedule has no occurrence then; there is none after it."


def test_from_end_schedule_is_explained_as_an_estimate() -> None:
    world = World(Every(interval=HOUR, since="end")).claim_at(hour(13))
    assert why(world, hour(14)).english == "It is still to come: 2026-03-01 14:00 +00:00."


def test_explanation_returns_its_rows() -> None:
    world = World(retry=RetryPolicy(2, HOUR)).claim_at(hour(13))
    world.fail(retry_after=MINUTE)
    world.claim_at(hour(13) + MINUTE)
    world.settle(Succeeded())
    answer = why(world, hour(13))
    assert [run.attempt for run in answer.runs] == [1, 2]
    assert answer.english == (
        "It ran: succeeded. It started 60.000 s after it was due. It was attempt 2, the retry after attempt 1 ended as failed."
    )
    assert (
        answer.chinese == "它运行了：成功。它在到期后 60.000 秒启动。这是第 2 次尝试，即第 1 次以“失败”结束后的重试。"
    )


def taken_over() -> World:
    world = World().claim_at(hour(13))
    world.advance(timedelta(seconds=8)).lose()
    return world.claim_at(hour(13) + timedelta(seconds=8.02))


def test_lateness_of_a_takeover_counts_from_the_planned_instant() -> None:
    world = taken_over()
    world.settle(Succeeded())
    answer = why(world, hour(13))
    assert answer.runs[-1].lateness == timedelta(seconds=8.02)
    assert answer.english == (
        "It ran: succeeded. It started 8.020 s after it was due. Attempt 2 took over from attempt 1, which was lost: "
        + describe_reason(Reason.LEASE_LOST)
    )
    assert answer.chinese == (
        "它运行了：成功。它在到期后 8.020 秒启动。第 2 次尝试接替了丢失的第 1 次："
        + describe_reason(Reason.LEASE_LOST, "zh")
    )


def test_running_takeover_says_from_which_attempt() -> None:
    answer = why(taken_over(), hour(13))
    assert answer.verdict is Verdict.RUNNING
    assert answer.english.startswith("It is running now. Attempt 2 took over from attempt 1, which was lost: ")


def test_lateness_of_a_retry_counts_the_jitter_of_the_first_attempt_as_on_time() -> None:
    world = World(Every(interval=HOUR, jitter=timedelta(minutes=30)), retry=RetryPolicy(2, HOUR))
    entry = world.facts.entries[0]
    assert entry.due > entry.planned
    world.claim_at(entry.due)
    world.fail(retry_after=MINUTE)
    world.claim_at(entry.due + MINUTE)
    world.settle(Succeeded())
    assert why(world, entry.planned).english.startswith("It ran: succeeded. It started 60.000 s after it was due.")


def test_attempt_without_earlier_rows_is_explained_by_its_number() -> None:
    world = taken_over()
    world.settle(Succeeded())
    del world.runs[min(world.runs, key=lambda run_id: world.runs[run_id].attempt)]
    assert why(world, hour(13)).english == "It ran: succeeded. It started 8.020 s after it was due. It was attempt 2."


def test_lost_run_under_at_most_once_says_that_it_is_not_run_again() -> None:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.start(world.live_run)
    world.release()
    answer = why(world, hour(13))
    assert answer.english.endswith(
        describe_reason(Reason.RELEASED) + " It is not run again: the guarantee is at_most_once, and it had started."
    )
    assert "它不会再次运行" in answer.chinese
    assert "again" not in describe_reason(Reason.RELEASED)


def test_pending_retry_is_explained() -> None:
    world = World(retry=RetryPolicy(2, HOUR)).claim_at(hour(13))
    world.fail(retry_after=MINUTE)
    answer = why(world, hour(13))
    assert answer.verdict is Verdict.RAN
    assert answer.english.endswith("The target ran and failed. It is tried again at 2026-03-01 13:01 +00:00.")
    assert answer.chinese.endswith("将于 2026-03-01 13:01 +00:00 再次尝试。")


def test_retry_of_a_run_that_never_started_is_explained() -> None:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.lose()
    answer = why(world, hour(13))
    assert answer.verdict is Verdict.SKIPPED
    assert answer.english.endswith("Its next attempt is due since 2026-03-01 13:00 +00:00 and waits for a node.")
    assert answer.chinese.endswith("它的下一次尝试自 2026-03-01 13:00 +00:00 起到期，正在等待节点。")


def test_jitter_is_explained() -> None:
    world = World(Every(interval=HOUR, jitter=40 * MINUTE)).at(hour(13))
    assert world.next is not None
    assert why(world, hour(13)).english == f"It is still to come: {world.next.due:%Y-%m-%d %H:%M:%S} +00:00."


def test_explanation_has_the_reason_code() -> None:
    assert why(stretch(), hour(14)).reason is Reason.MISSED_SKIPPED
    assert why(paused(), hour(13)).reason is Reason.PAUSED
    assert why(cancelled(), hour(14)).reason is Reason.CANCELLED
    assert why(going(), hour(13)).reason is None


def test_a_deadline_and_the_end_of_a_pause_are_no_occurrences() -> None:
    world = World().claim_at(hour(13))
    world.settle(Waiting(hour(13.5)))
    world.pause(until=hour(13.75))
    world.runs.clear()
    assert why(world, hour(13.75)).verdict is Verdict.NOT_PLANNED


def test_every_verdict_has_its_sentences() -> None:
    assert set(_SENTENCES) == set(Verdict)


def test_explained_times_are_in_the_zone_of_the_task() -> None:
    world = World(Every(interval=HOUR, zone="Asia/Shanghai")).at(hour(13))
    assert why(world, hour(14)).english == "It is still to come: 2026-03-01 22:00 +08:00."
    assert why(world, hour(11)).chinese == "任务在 2026-03-01 20:00 +08:00 才创建。"


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (PauseCause.OWNER_REVOKED, Reason.OWNER_REVOKED),
        (PauseCause.QUOTA, Reason.QUOTA),
        (PauseCause.AWAITING_APPROVAL, Reason.AWAITING_APPROVAL),
    ],
)
def test_automatic_pause_is_explained_by_its_cause(cause: PauseCause, reason: Reason) -> None:
    world = World().at(hour(12.5))
    world.pause(cause=cause)
    found = why(world.at(hour(15.5)), hour(13))
    assert (found.verdict, found.reason) == (Verdict.PAUSED, reason)
    assert describe_reason(reason) in found.english
    assert describe_reason(reason, "zh") in found.chinese


@pytest.mark.parametrize(
    ("cause", "command"),
    [
        (PauseCause.AWAITING_APPROVAL, "horae approve {id}"),
        (PauseCause.AGENT_STOPPED, "horae agent restart helper --owner {owner}"),
        (PauseCause.OWNER_REVOKED, "horae agent restart helper --owner {owner}"),
    ],
)
def test_pause_of_an_agents_task_names_the_command_that_ends_it(cause: PauseCause, command: str) -> None:
    world = World().at(hour(12.5))
    world.pause(cause=cause, note="a note that repeats the cause")
    task = world.facts.task._replace(labels=((AGENT_LABEL, "helper"),))
    found = explain(world.facts._replace(task=task), (), hour(13), hour(15.5))
    assert found.verdict is Verdict.PAUSED
    for text in (found.english, found.chinese):
        assert text.endswith(command.format(id=task.id, owner=task.owner))
        assert "a note" not in text


@pytest.mark.parametrize(
    ("note", "command"),
    [
        (AGENT_STOPPED_NOTE, "horae agent restart family --owner group:family"),
        (GROUP_STOPPED_NOTE, "horae group start family"),
        (ALL_STOPPED_NOTE, "horae agent restart --all"),
    ],
)
def test_pause_of_a_stopped_groups_prompt_names_the_command_that_ends_it(note: str, command: str) -> None:
    world = World().at(hour(12.5))
    world.pause(cause=PauseCause.AGENT_STOPPED, note=note)
    prompt = world.facts.task._replace(owner="group:family", target=Target("agent", '{"group":"family"}'))
    found = explain(world.facts._replace(task=prompt), (), hour(13), hour(15.5))
    assert found.english.endswith(command)
    assert found.chinese.endswith(command)
    plain = explain(world.facts, (), hour(13), hour(15.5))
    assert note in plain.english


@pytest.mark.parametrize("reason", [Reason.OWNER_REVOKED, Reason.QUOTA, Reason.AGENT_QUOTA])
@pytest.mark.parametrize(
    ("at", "verdict"), [(hour(13), Verdict.OVERDUE), (hour(14), Verdict.PENDING), (hour(40), Verdict.PENDING)]
)
def test_occurrence_of_a_blocked_owner_is_announced_as_skipped(at: datetime, verdict: Verdict, reason: Reason) -> None:
    world = World().at(hour(13.5))
    facts = world.facts._replace(block_reason=reason)
    found = explain(facts, (), at, hour(13.5))
    assert (found.verdict, found.reason) == (verdict, reason)
    assert describe_reason(reason) in found.english
    assert found.english.endswith(f"horae owner show {facts.task.owner}")
    assert describe_reason(reason, "zh") in found.chinese


def test_undelivered_event_is_explained() -> None:
    world = World().claim_at(hour(13))
    world.settle(Succeeded('{"delivered": 0, "to": {}}'))
    facts = world.facts._replace(task=world.facts.task._replace(target=Target("event", "{}")))
    answer = explain(facts, tuple(world.runs.values()), hour(13), world.now)
    assert answer.english.endswith("No listener received it.")
    assert answer.chinese.endswith("没有监听者收到它。")


@pytest.mark.parametrize(
    ("nodes", "english", "chinese"),
    [
        (RunningNodes(), "no engine is running", "没有节点在运行"),
        (RunningNodes(draining=("a",)), "the only running node is draining", "唯一在运行的节点正在排空"),
        (RunningNodes(draining=("a", "b")), "all running nodes are draining", "在运行的节点都在排空"),
        (RunningNodes(("a",), ("b",)), "no running node has had free capacity for it", "在运行的节点都没有空位"),
    ],
)
@pytest.mark.parametrize("at", [hour(13), hour(15)])
def test_overdue_entry_is_explained_by_the_running_nodes(
    nodes: RunningNodes, at: datetime, english: str, chinese: str
) -> None:
    world = overdue()
    answer = explain(world.facts, (), at, world.now, nodes)
    assert answer.verdict is Verdict.OVERDUE
    assert answer.english.startswith(f"It is due and has not been claimed yet: {english}")
    assert answer.chinese.startswith(f"它已到期但尚未被领取：{chinese}")


def test_pause_with_an_end_says_when_the_task_goes_on() -> None:
    answer = why(paused_until(), hour(13))
    assert answer.english.endswith("It goes on at 2026-03-01 14:00 +00:00.")
    assert answer.chinese.endswith("它将于 2026-03-01 14:00 +00:00 恢复。")


def test_moment_between_occurrences_of_a_paused_task_names_the_pause() -> None:
    answer = why(paused_until(), hour(13) - timedelta(minutes=5))
    assert answer.verdict is Verdict.NOT_PLANNED
    assert "the nearest later one is 2026-03-01 13:00 +00:00" in answer.english
    assert "The task has been paused since" in answer.english
    assert "它将于 2026-03-01 14:00 +00:00 恢复。" in answer.chinese


def test_newest_row_of_a_paused_task_is_explained_with_the_pause() -> None:
    world = succeeded()
    answer = why(world, hour(13))
    assert with_pause(world.facts, answer) == answer
    world.pause()
    found = with_pause(world.facts, why(world, hour(13)))
    assert found.verdict is Verdict.RAN
    assert "The task has been paused since" in found.english
    held = why(world.at(hour(15)), hour(14))
    assert with_pause(world.facts, held) == held


@pytest.mark.parametrize(
    ("missed", "reason", "english", "chinese"),
    [
        ("latest", Reason.MERGED, "one later run makes up for all of them", "由之后的一次运行一并补上"),
        ("all", Reason.MISSED_SKIPPED, "the resume did not make up for it", "恢复时没有补跑它"),
    ],
)
def test_row_of_a_resumed_pause_is_explained_by_the_pause(
    missed: Literal["latest", "all"], reason: Reason, english: str, chinese: str
) -> None:
    world = World(missed=Missed("latest", None, limit=1))
    world.pause()
    world.at(hour(16.5))
    change = resume(world.facts, world.now, missed)
    (row,) = change.new_runs
    (writing,) = change.attached
    assert row.reason is reason
    assert (writing.record.kind, writing.record.key) == (PAUSED_SPAN_KIND, row.id)
    found = explain(world.facts, change.new_runs, row.planned, world.now)
    answer = explain_paused_row(world.facts, found, parse_paused_span(writing.record))
    assert "nothing could run it" not in answer.english
    assert "The task was paused then, from 2026-03-01 12:00" in answer.english
    assert english in answer.english
    assert chinese in answer.chinese


def test_resume_that_skips_writes_no_record_of_the_pause() -> None:
    world = World()
    world.pause()
    change = resume(world.at(hour(16.5)).facts, world.now)
    assert [row.reason for row in change.new_runs] == [Reason.PAUSED]
    assert change.attached == ()


@pytest.mark.parametrize(("schedule", "resumable"), [(Once(at=hour(13)), False), (Every(interval=HOUR), True)])
def test_failed_task_is_explained_with_resumability(schedule: Schedule, *, resumable: bool) -> None:
    world = World(schedule, give_up_after=1).claim_at(hour(13))
    running = explain(world.facts, tuple(world.runs.values()), hour(13), world.now)
    assert with_end(world.facts, running) == running
    world.fail(permanent=True)
    assert world.state is TaskState.FAILED
    answer = with_end(world.facts, explain(world.facts, tuple(world.runs.values()), hour(13), world.now))
    assert "The task has given up" in answer.english
    assert "任务已放弃重试" in answer.chinese
    over = explain(world.facts, (), hour(14), hour(14))
    assert with_end(world.facts, over) == over
    assert can_start_again(world.facts, hour(13.5)) is resumable


def test_run_whose_target_was_not_called_does_not_say_that_it_ran() -> None:
    world = World().at(hour(13)).claim_all()
    world.settle(Failed("argument 'user' of mail is missing; wanted: int", permanent=True, reason=Reason.NOT_CALLED))
    answer = why(world, hour(13))
    assert answer.reason is Reason.NOT_CALLED
    assert "It ran" not in answer.english
    assert "The target was not called" in answer.english
    assert "运行了" not in answer.chinese


@pytest.mark.parametrize(
    ("nodes", "cause"),
    [
        (None, "it needs a node with gpu=a100, and no node is running"),
        (RunningNodes(), "it needs a node with gpu=a100, and no node is running"),
        (
            RunningNodes(("nod_1",), labels=(("home", (("gpu", "a100"), ("node", "home"))),)),
            "a running node has its labels gpu=a100, and is busy, draining, or has no such target",
        ),
        (
            RunningNodes(("nod_1",), labels=(("home", (("node", "home"),)),)),
            "no running node has its labels gpu=a100 (missing: gpu=a100; running: home: node=home)",
        ),
    ],
)
def test_why_names_the_labels_that_a_due_entry_waits_for(nodes: RunningNodes | None, cause: str) -> None:
    world = World(where=(("gpu", "a100"),)).at(hour(13.5))
    queued = tuple(place_entry(world.facts.task, entry) for entry in world.facts.entries)
    answer = explain(world.facts._replace(entries=queued), (), hour(13), world.now, nodes)
    assert (answer.verdict, answer.english) == (Verdict.WAITING, f"It is due and waits: {cause}.")
    assert "gpu=a100" in answer.chinese
