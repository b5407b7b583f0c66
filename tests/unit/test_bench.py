"""The benchmark runs and reports; measured times are not asserted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from bench import command, contenders, link, rate_lane
from bench.against_peers import EXPRESSIONS
from bench.api.family import api
from bench.command import BENCHMARKS
from bench.console import scale as console_scale
from bench.console.budgets import budgets
from bench.console.family import console
from bench.console.rendering import rendering
from bench.counts import Counts
from bench.instants import instants_near_changes, random_instants
from bench.lists import family as lists_family
from bench.measure import Contender, Timing
from bench.messages import __main__ as messages
from bench.postgres.family import postgres
from bench.redis.family import redis
from bench.results import Bar, Row, Section, timed, times_faster
from bench.table import as_markdown, as_text, summary
from tests.sizes import SOAK

TINY = Counts(instants=3, texts=3, rounds=2, singles=2, processes=1, values=3, zones=3)


DEPLOYED = (api, postgres, console, redis)
"""Groups that deploy servers and nodes: the longest, and made of parts that others use too. A soak run has them."""


@pytest.mark.parametrize(
    "benchmark", [each for each in BENCHMARKS if SOAK or each not in DEPLOYED], ids=lambda benchmark: benchmark.__name__
)
def test_every_benchmark_reports(benchmark: Callable[[Counts], list[Section]], monkeypatch: pytest.MonkeyPatch) -> None:
    # The benchmark of starting compiles all modules for itself, the one of lists has those of the tests.
    monkeypatch.setattr(lists_family, "interpreter_environment", lambda _: dict(os.environ))
    sections = benchmark(TINY)
    assert sections
    for section in sections:
        assert section.rows
        shown = as_text(section)
        assert section.title in shown
        assert all(row.what in shown for row in section.rows)


def test_console_pages_are_measured_on_a_small_store() -> None:
    sizes = console_scale.TINY
    (files,), (pages,) = budgets(sizes), rendering(sizes)
    assert all(row.met for row in files.rows)
    measured = {row.what.partition(":")[0] for row in pages.rows}
    assert {"`/`, admin", "`/`, member", "`/runs?group=error`, member"} <= measured
    assert all(row.met for row in pages.rows if row.unit == "bytes")


@pytest.mark.parametrize(
    ("measure", "arguments", "shown"),
    [
        (link.main, ["--chains", "5"], "start of a link after the end of its predecessor: median"),
        (rate_lane.main, ["--waiting", "200", "--seconds", "1"], "at most 100 within any period"),
        (messages.main, ["sqlite", "1000"], "append: median"),
    ],
    ids=["link", "rate_lane", "messages"],
)
def test_costs_of_chains_lanes_and_messages_are_measured_with_small_counts(
    measure: Callable[[list[str]], None], arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    measure(arguments)
    assert shown in capsys.readouterr().out


@pytest.fixture
def one_small_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    missed = Row("too slow", 2.0, 1.5, "ms", 0.1, Bar("under", 1))
    monkeypatch.setattr(command, "BENCHMARKS", (lambda _: [Section("Something", (missed,), ("A note.",))],))


@pytest.mark.usefixtures("one_small_benchmark")
def test_missed_target_is_reported_without_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--quick"]) == 0
    told = capsys.readouterr().out
    assert "0 of 1 targets met." in told
    assert "Something: too slow: missed by 100%" in told
    assert "A note." in told


@pytest.mark.usefixtures("one_small_benchmark")
def test_numbers_are_written_as_json(tmp_path: Path) -> None:
    assert command.main(["--quick", "--json", str(tmp_path / "numbers.json")]) == 0
    kept = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    (section,) = kept["sections"]
    assert section["rows"][0]["met"] is False
    assert section["rows"][0]["target"] == {"sense": "under", "limit": 1}
    assert "cronsim" in kept["machine"]


@pytest.mark.usefixtures("one_small_benchmark")
def test_markdown_output_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--quick", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "### Something" in lines
    assert "| too slow | 2.00 ms | 1.50 ms | 10% | under 1 ms | missed by 100% |" in lines


@pytest.mark.parametrize(
    ("bar", "median", "best", "verdict"),
    [
        (Bar("at least", 8), 8.0, 9.0, "met"),
        (Bar("at least", 8), 9.0, 6.0, "missed by 25%"),
        (Bar("under", 60), 59.0, 40.0, "met"),
        (Bar("under", 60), 60.0, 40.0, "missed by 0%"),
        (Bar("at most", 0), 0.0, 0.0, "met"),
        (Bar("at most", 0), 2.0, 2.0, "missed by 200%"),
    ],
)
def test_target_applies_to_median_and_best(bar: Bar, median: float, best: float, verdict: str) -> None:
    assert Row("it", median, best, "x", None, bar).verdict == verdict


def test_rows_without_a_target_are_not_counted() -> None:
    section = Section("Two", (Row("free", 1.0, 1.0, "ms"), Row("bound", 1.0, 1.0, "ms", None, Bar("under", 2))))
    assert summary([section]) == "1 of 1 targets met."
    assert "| free | 1.00 ms | 1.00 ms |  |  |  |" in as_markdown([section], {})


def test_times_come_from_the_rounds() -> None:
    ours, theirs = Timing((1e-6, 2e-6, 3e-6)), Timing((10e-6, 20e-6, 60e-6))
    row = times_faster("ours", ours, theirs)
    assert (row.median, row.best) == pytest.approx((10, 10))
    assert row.spread == pytest.approx(0.5)
    assert timed("ours", ours, "µs").median == pytest.approx(2)


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("instants", [random_instants(40), instants_near_changes(40)], ids=["anywhere", "near changes"])
def test_reused_peers_answer_like_new_ones(text: str, instants: list[datetime]) -> None:
    for kept, fresh in (
        (contenders.cronsim_reused, contenders.cronsim_constructed),
        (contenders.croniter_reused, contenders.croniter_constructed),
    ):
        assert contenders.differences(kept(text, instants), fresh(text, instants)) == 0


def test_wrong_contender_is_noticed() -> None:
    instants = random_instants(10)
    right = contenders.cronsim_constructed("*/5 * * * *", instants)
    wrong = Contender(lambda moments: moments, instants)
    assert contenders.differences(right, wrong) == 10


def test_the_instants_are_distinct_and_the_same_in_every_run() -> None:
    assert len(set(random_instants(1000))) == 1000
    assert random_instants(1000) == random_instants(1000)
