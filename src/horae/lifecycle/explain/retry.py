"""Explanation of retries: how long one waits, and what it and the next occurrence mean to each other."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ...model.change import Facts
from ...model.entry import CLAIMABLE, Entry, EntryKind, EntryState
from ...model.gate import MAX_GATE_FAILURES
from ...model.ids import hash_fraction
from ...model.inputs.run_input import gate_failures
from ...model.reason import Reason
from ...model.run import Run
from ..instant_text import format_instant
from ..overlap import blocking_retries, gate_retries, superseded_retries

_WAIT_CHOSEN: Final = {
    "full": (
        "The wait of {wait} is a random share of {longest} (retry.jitter: full).",
        "等待 {wait}，是 {longest} 的一个随机部分（retry.jitter: full）。",
    ),
    "none": ("The wait is exactly {wait} (retry.jitter: none).", "等待时间正好是 {wait}（retry.jitter: none）。"),
}
_SUPERSEDED_FIRST: Final = (
    "The next occurrence comes first, at {at}, and takes its place (retry.superseded_by_next: true).",
    "下一次会先到（{at}），并取代它（retry.superseded_by_next: true）。",
)
_COUNTS_AS_RUNNING: Final = (
    "It counts as running, and overlap '{overlap}' decides about the next occurrence (retry.superseded_by_next: false).",
    "在此之前它视为正在运行，由重叠策略“{overlap}”决定下一次（retry.superseded_by_next: false）。",
)
_RETRY_COUNTED: Final = (
    "An occurrence that waits for its retry counts as still going (retry.superseded_by_next: false).",
    "等待重试的一次视为仍在进行（retry.superseded_by_next: false）。",
)
_HELD_BY_RETRY: Final = (
    "attempt {attempt} of an earlier occurrence waits until {at} and counts as still going",
    "较早一次的第 {attempt} 次尝试等到 {at}，视为仍在进行",
)
_GATE_FAILING: Final = (
    "Its gate has failed {failures} {times} in a row; after {most} the task is paused. Occurrences that pass meanwhile are skipped.",
    "其门控已连续失败 {failures} 次；达到 {most} 次时任务会被暂停。期间到期的各次会被跳过。",
)
_HELD_BY_GATE: Final = (
    "the gate of an earlier occurrence fails and is tried again at {at}",
    "较早一次的门控检查失败，将于 {at} 重试",
)


def gate_retry_words(entry: Entry) -> tuple[str, str]:
    """Say how often the gate of a waiting retry has failed."""
    failures = gate_failures(entry.input)
    facts = {"failures": failures, "most": MAX_GATE_FAILURES, "times": "time" if failures == 1 else "times"}
    return _GATE_FAILING[0].format(**facts), _GATE_FAILING[1].format(**facts)


def failing_gate_words(facts: Facts, entry: Entry) -> tuple[str, str] | None:
    """Return the cause of a held entry that waits for a gate; None where it waits for something else."""
    retries = gate_retries(facts, entry.origin)
    if entry.state is not EntryState.HELD or entry.kind is EntryKind.RETRY or not retries:
        return None
    at = format_instant(facts, retries[0].due)
    return _HELD_BY_GATE[0].format(at=at), _HELD_BY_GATE[1].format(at=at)


def retry_policy_words(facts: Facts, run: Run) -> tuple[str, str]:
    """Name the retry policy where it can be the cause of a skipped row."""
    counts_as_running = not facts.task.policies.retry.superseded_by_next
    return _RETRY_COUNTED if counts_as_running and run.reason is Reason.OVERLAP else ("", "")


def describe_wait(facts: Facts, run: Run, entry: Entry, now: datetime) -> tuple[str, str]:
    """Say how the retry policy chose the wait; nothing where the target or a request chose it."""
    retry = facts.task.policies.retry
    if run.ended is None or entry.due <= now or entry.state is EntryState.ASLEEP:
        return "", ""
    wait = entry.due - run.ended
    if wait != retry.wait(run.tries, hash_fraction(run.id)):
        return "", ""
    english, chinese = _WAIT_CHOSEN[retry.jitter]
    lengths = {"wait": _format_length(wait), "longest": _format_length(retry.longest_wait(run.tries))}
    return english.format(**lengths), chinese.format(**lengths)


def describe_next(facts: Facts, entry: Entry, now: datetime) -> tuple[str, str]:
    """Say what the next occurrence and a waiting retry mean to each other."""
    if entry.state is EntryState.ASLEEP or entry.due <= now:
        return "", ""
    if entry in blocking_retries(facts):
        overlap = facts.task.policies.overlap
        return _COUNTS_AS_RUNNING[0].format(overlap=overlap), _COUNTS_AS_RUNNING[1].format(overlap=overlap)
    for other in facts.entries:
        is_first = other.kind is EntryKind.NEXT and other.state in CLAIMABLE and other.due <= entry.due
        if is_first and facts.task.policies.retry.superseded_by_next and entry in superseded_retries(facts, other):
            at = format_instant(facts, other.due)
            return _SUPERSEDED_FIRST[0].format(at=at), _SUPERSEDED_FIRST[1].format(at=at)
    return "", ""


def blocking_retry_words(facts: Facts, entry: Entry) -> tuple[str, str] | None:
    """Return the cause of a held entry that waits for a retry; None where it waits for something else."""
    retries = () if facts.live or entry.kind is EntryKind.RETRY else blocking_retries(facts)
    if entry.state is not EntryState.HELD or not retries:
        return None
    names = {"attempt": retries[0].attempt, "at": format_instant(facts, retries[0].due)}
    return _HELD_BY_RETRY[0].format(**names), _HELD_BY_RETRY[1].format(**names)


def _format_length(length: timedelta) -> str:
    return f"{length.total_seconds():.3f}".rstrip("0").rstrip(".") + " s"
