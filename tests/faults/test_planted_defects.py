"""Checker against planted defects: a worker with a defect causes a violation with the expected code."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.faults.client import RUN_EVERY_INSTANT, TaskRequest, add, from_now
from tests.faults.oracle import Due, Series
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, freeze, has_marks, one_shot, thaw_after_three_leases, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until


def violation_codes(testbed: Testbed, *due: Due) -> set[str]:
    wait_until_quiet(testbed, max(each.instants[-1] for each in due), TIMEOUT)
    return {sentence.partition(":")[0] for sentence in violations(testbed, *due)}


@pytest.mark.parametrize(
    ("defect", "word"),
    [
        ("the claim forgets the next occurrence", "lost"),
        ("the claim leaves the entry", "repeated"),
        ("the claim comes early", "early"),
        ("the settlement drops the next occurrence", "lost"),
    ],
)
def test_checker_detects_defect_in_normal_operation(testbed: Testbed, workers: Workers, defect: str, word: str) -> None:
    workers.ready(defect=defect)
    due = add(
        testbed, TaskRequest("note", Series(from_now(1), timedelta(milliseconds=300), 4), options=RUN_EVERY_INSTANT)
    )
    assert word in violation_codes(testbed, *due)


@pytest.mark.parametrize(
    ("defect", "word"),
    [
        ("the recovery forgets the retry", "dropped"),
        ("the recovery gives no reason", "unexplained"),
        ("each attempt has a key of its own", "key"),
    ],
)
def test_checker_detects_defect_after_kill(testbed: Testbed, workers: Workers, defect: str, word: str) -> None:
    due = add(testbed, one_shot("awaited", {"gate": "done"}))
    first = workers.ready(defect=defect)
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the start")
    first.kill()
    testbed.open_gate("done")
    workers.ready(defect=defect)
    assert word in violation_codes(testbed, *due)


def test_checker_detects_stale_settlement_after_thaw(testbed: Testbed, workers: Workers) -> None:
    due = add(testbed, one_shot())
    sleeper = workers.ready(point="settling", defect="a stale settlement is written")
    sleeper.expect("at settling")
    workers.ready()
    frozen = freeze(sleeper, testbed)
    thaw_after_three_leases(sleeper, frozen)
    testbed.open_gate("settling")
    sleeper.expect("stale")
    assert "stale" in violation_codes(testbed, *due)
