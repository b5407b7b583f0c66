"""`why` for a waiting retry: how long it waits, and what it and the next occurrence mean to each other."""

from __future__ import annotations

import pytest

from horae.lifecycle.explain.explanation import Explanation, Verdict, explain
from horae.model.entry import EntryKind
from horae.model.policy import Overlap, RetryJitter, RetryPolicy
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour


def why(world: World, at: float) -> Explanation:
    return explain(world.facts, tuple(world.runs.values()), hour(at), world.now)


def failed(
    overlap: Overlap = "skip", *, jitter: RetryJitter = "none", wait: float = 0.5, superseded_by_next: bool = True
) -> World:
    """The run of 13:00 has failed, and its second attempt waits."""
    retry = RetryPolicy(3, wait * HOUR, max=6 * HOUR, jitter=jitter, superseded_by_next=superseded_by_next)
    world = World(overlap=overlap, retry=retry).claim_at(hour(13))
    world.fail()
    return world


def test_exact_wait_is_explained() -> None:
    answer = why(failed(), 13)
    assert answer.english.endswith("The wait is exactly 1800 s (retry.jitter: none).")
    assert answer.chinese.endswith("等待时间正好是 1800 s（retry.jitter: none）。")


def test_random_wait_is_explained() -> None:
    world = failed(jitter="full")
    (entry,) = [each for each in world.entries.values() if each.attempt == 2]
    wait = f"{(entry.due - world.now).total_seconds():.3f}".rstrip("0").rstrip(".")
    assert f"The wait of {wait} s is a random share of 1800 s (retry.jitter: full)." in why(world, 13).english


def test_wait_that_the_target_chose_is_not_the_policy() -> None:
    world = World(retry=RetryPolicy(3, HOUR)).claim_at(hour(13))
    world.fail(retry_after=7 * MINUTE)
    assert "retry.jitter" not in why(world, 13).english


@pytest.mark.parametrize("at", [13.75, 13.5])
def test_wait_is_not_explained_once_it_is_over(at: float) -> None:
    assert "retry.jitter" not in why(failed().at(hour(at)), 13).english


def test_wait_of_a_paused_task_is_not_explained() -> None:
    world = failed(wait=2)
    world.pause()
    assert why(world, 13).english.endswith("It is not tried again while the task is paused.")


def test_next_occurrence_that_takes_the_place_of_the_retry_is_named() -> None:
    answer = why(failed(wait=2), 13)
    assert answer.english.endswith(
        "The next occurrence comes first, at 2026-03-01 14:00 +00:00, and takes its place (retry.superseded_by_next: true)."
    )
    assert answer.chinese.endswith("并取代它（retry.superseded_by_next: true）。")


@pytest.mark.parametrize("overlap", ["queue_all", "parallel"])
def test_nothing_takes_its_place_where_retries_are_not_superseded(overlap: Overlap) -> None:
    assert "superseded_by_next" not in why(failed(overlap, wait=2), 13).english


def test_retry_that_counts_as_running_says_so() -> None:
    answer = why(failed("queue", wait=2, superseded_by_next=False), 13)
    assert answer.english.endswith(
        "It counts as running, and overlap 'queue' decides about the next occurrence (retry.superseded_by_next: false)."
    )


def test_retry_that_the_next_occurrence_replaces_has_no_word_about_superseding() -> None:
    assert "superseded_by_next" not in why(failed("replace", wait=2, superseded_by_next=False), 13).english


def test_skipped_occurrence_names_the_retry_policy() -> None:
    answer = why(failed(wait=2, superseded_by_next=False).claim_at(hour(14)), 14)
    assert answer.verdict is Verdict.SKIPPED
    assert answer.english.endswith(
        "An occurrence that waits for its retry counts as still going (retry.superseded_by_next: false)."
    )
    assert answer.chinese.endswith("等待重试的一次视为仍在进行（retry.superseded_by_next: false）。")


def test_held_occurrence_names_the_retry_that_it_waits_for() -> None:
    world = failed("queue", wait=2, superseded_by_next=False).claim_at(hour(14))
    assert why(world, 14).english == (
        "It is due and waits: attempt 2 of an earlier occurrence waits until 2026-03-01 15:00 +00:00 and counts as still "
        "going."
    )
    world.claim(world.at(hour(15)).queued(EntryKind.RETRY)[0])
    assert why(world, 14).english == "It is due and waits: an earlier run of the task is still going."


def test_held_retry_waits_for_the_run() -> None:
    world = failed("parallel", superseded_by_next=False)
    world.edit(policies=failed("queue", superseded_by_next=False).task.policies)
    world.pause()
    world.advance(MINUTE).run_now()
    world.claim_all()
    world.resume()
    world.at(hour(13.5)).claim_all()
    assert "waits: an earlier run of the task is still going." in why(world, 13).english
