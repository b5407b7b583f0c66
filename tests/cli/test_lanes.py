"""`horae lanes`, `lane NAME`, `why` and `show RUN` of a lane with an idle run and entries that wait, in both languages."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.clock import SystemClock
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.run import Run
from horae.ports.store import Node
from horae.runtime.stores import make_store
from tests.cli.command_line import Cli


async def _claim(url: str) -> Run:
    """Claim what is due on a node of its own, and let the run that starts declare itself idle."""
    store, now = make_store(url), SystemClock().now() + timedelta(seconds=1)
    await store.open()
    try:
        await store.join(Node("nod_1", "here/1", "1", now, now))
        claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
        claim = await store.claim_due(now, "nod_1", 9, lambda facts, entry, token: fire(facts, entry, token, claimant))
        ((_, run),) = claim.runs
        await store.declare_idle(run.id, run.token, now)
        return run
    finally:
        await store.close()


@pytest.fixture
def run(cli: Cli) -> Run:
    """A lane of one with an idle run of bob; an entry of bob and one of ada wait."""
    for name, owner in (("b0", "bob"), ("b1", "bob"), ("a0", "ada")):
        assert cli("add", "now", "--name", name, "--say", "x", "--lane", "press", "--owner", owner).code == 0
    return asyncio.run(_claim(cli.url))


def test_lane_with_an_idle_run_and_a_queue(cli: Cli, run: Run) -> None:
    (row,) = cli("lanes", "--json").json
    assert (row["taken"], row["waiting"], row["idle"]) == (1, 2, 1)
    assert row["oldest"] is not None
    assert "press  1      1      -     2" in cli("lanes").out
    detail = cli("lane", "press", "--json").json
    assert [each["task"] for each in detail["queue"]] == ["a0", "b1"]
    shown = cli("lane", "press").out
    for text in ("1 of 1 in use", "b0", run.id, "asked to yield: an entry of another owner", "1. a0", "2. b1"):
        assert text in shown
    chinese = cli("lane", "press", "--lang", "zh").out
    assert "已用 1 / 1" in chinese
    assert "已请求让出" in chinese
    assert cli("lane", "press", "--quiet").out == f"{run.id}\n"


def test_show_says_that_a_run_is_idle(cli: Cli, run: Run) -> None:
    assert cli("show", run.id, "--json").json["idle"]["yield_requested"]["kind"] == "other_owner"
    assert "asked to yield: an entry of another owner waits in the lane 'press'" in cli("show", run.id).out
    assert "空闲" in cli("show", run.id, "--lang", "zh").out


def test_why_explains_the_wait_in_a_lane(cli: Cli, run: Run) -> None:
    answer = cli("why", "b1", "--json").json
    assert (answer["lane"]["runs"], answer["lane"]["ahead"]) == ([run.id], 1)
    shown = " ".join(cli("why", "b1").out.split())
    assert "its lane 'press' is full" in shown
    assert "One entry is ahead of it. When a slot becomes free is not known" in shown
    assert "它前面有 1 个" in cli("why", "b1", "--lang", "zh").out


def test_repeated_lane_option_names_several_lanes(cli: Cli) -> None:
    task = cli("add", "every 1h", "--say", "x", "--name", "x", "--lane", "a", "--lane", "b", "--lanes", "c,d", "--json")
    assert task.code == 0, task.err
    shown = cli("show", "x", "--json").json["task"]
    assert (shown["lane"], shown["policies"]["lanes"]) == ("a", ["b", "c", "d"])
    many = [word for name in "abcdefghi" for word in ("--lane", name)]
    assert "too_many_task_lanes" in cli("add", "every 1h", "--say", "x", *many, "--json").err
    assert cli("edit", "x", "--lane", "e", "--lane", "f").code == 0
    shown = cli("show", "x", "--json").json["task"]
    assert (shown["lane"], shown["policies"]["lanes"]) == ("e", ["f"])
