"""`why`, `show` and `ls` of paused, finished and skipped occurrences."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae import Context, Horae
from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, make_app
from tests.cli.terminal import Terminal

EVERY_TEN_MINUTES = "0,10,20,30,40,50 * * * *"


def paused_for_an_hour(cli: Cli, *, resumed: str | None = None) -> datetime:
    """Run a task every ten minutes, then pause it for an hour; return the instant of the pause."""
    start = hour_before(3)
    app = make_app(cli.path)
    with TimeTravel(app, start, store="own") as time:
        handle: Any = time.run(app.schedule("report", EVERY_TEN_MINUTES, name="report"))
        time.travel("31m")
        time.run(handle.pause())
        time.travel("60m")
        if resumed is not None:
            time.run(handle.resume(missed=resumed))
            time.travel("1m")
    return start + timedelta(minutes=31)


def test_why_of_a_paused_task_answers_with_the_pause(cli: Cli) -> None:
    paused_for_an_hour(cli)
    why = cli("why", "report", "--json").json
    assert why["verdict"] == "paused"
    assert "The task has been paused since" in why["sentence"]
    assert why["fixes"][0]["command"] == "horae resume report"


def test_why_of_a_paused_task_before_its_next_occurrence_names_the_run_and_the_pause(cli: Cli) -> None:
    app = make_app(cli.path)
    with TimeTravel(app, hour_before(0) - timedelta(days=1), store="own") as time:
        handle: Any = time.run(app.schedule("report", "0 0 1 1 *", name="report"))
        time.run(handle.run_now())
        time.travel("1m")
        time.run(handle.pause("holiday"))
    why = cli("why", "report", "--json").json
    assert why["sentence"].startswith("It ran: succeeded")
    assert "The task has been paused since" in why["sentence"]
    assert why["fixes"][0]["command"] == "horae resume report"
    assert "起暂停" in cli("why", "report", "--lang", "zh").out


def test_why_of_an_occurrence_in_a_resumed_pause_names_the_pause(cli: Cli) -> None:
    paused = paused_for_an_hour(cli, resumed="latest")
    at = (paused + timedelta(minutes=19)).strftime("%Y-%m-%dT%H:%MZ")
    why = cli("why", "report", "--at", at, "--json").json
    assert why["reason"] == "merged"
    assert "The task was paused then" in why["sentence"]
    assert "nothing could run it" not in why["sentence"]
    assert "处于暂停状态" in cli("why", "report", "--at", at, "--lang", "zh").out


def test_show_of_a_paused_task_lists_times_only_as_after_a_resume(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "tick")
    cli("pause", "tick")
    assert "Next   nothing while it is paused; resumed now:" in cli("show", "tick").out
    shown = cli("show", "tick", "--json").json
    assert (shown["fires"], len(shown["fires_if_resumed"])) == ([], 5)
    assert "暂停期间不会触发" in cli("show", "tick", "--lang", "zh").out


def test_list_show_and_why_agree_about_a_pause_with_an_end(cli: Cli) -> None:
    cli("add", "every day at 09:00", "--say", "x", "--name", "tick")
    cli("pause", "tick", "--until", "2099-01-01 08:00")
    fires = cli("show", "tick", "--json").json["fires"]
    assert fires[0]["at"].startswith("2099-01-01T09:00")
    assert "nothing before the pause ends; then:" in cli("show", "tick").out
    assert "2099-01-01 09:00" in cli("ls").out
    assert "It goes on at 2099-01-01 08:00" in cli("why", "tick").out


def test_finished_task_has_nothing_next(cli: Cli) -> None:
    app = make_app(cli.path)
    with TimeTravel(app, hour_before(1), store="own") as time:
        time.run(app.schedule("report", "now", name="once"))
        time.run(app.schedule("backup", "now", name="broken", retries=0))
        time.travel("1m")
    for name, state in (("once", "completed"), ("broken", "failed")):
        answer = cli("show", name).out
        assert f"State  {state}" in answer
        assert "Next   nothing\n" in answer
        assert "at once" not in answer


def test_why_offers_logs_only_of_a_run_that_has_lines(cli: Cli) -> None:
    app = Horae(cli.url, zone="UTC")

    @app.task(name="silent")
    def silent() -> None:
        raise ValueError("disk full")

    @app.task(name="loud")
    def loud(ctx: Context) -> None:
        ctx.log.info("about to fail")
        raise ValueError("disk full")

    with TimeTravel(app, hour_before(1), store="own") as time:
        time.run(app.schedule("silent", "now", name="silent", retries=0))
        time.run(app.schedule("loud", "now", name="loud", retries=0))
        time.travel("1m")
    verbs = {
        name: [each["command"].split()[1] for each in cli("why", name, "--json").json["fixes"]]
        for name in ("silent", "loud")
    }
    assert verbs == {"silent": ["retry"], "loud": ["logs", "retry"]}


@pytest.mark.parametrize(
    ("number", "text"), [("1", "the next occurrence is skipped"), ("2", "the next 2 occurrences are skipped")]
)
def test_skipped_occurrences_are_marked_in_show(cli: Cli, number: str, text: str) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    assert text in cli("skip", "report", number).out
    with Terminal(cli, "show", "report", columns=80) as terminal:
        assert terminal.ended() == 0
        lines = terminal.shown.splitlines()
    assert sum("skipped on request" in line for line in lines) == int(number)
    assert "skipped on request" in lines[2]


def test_missed_count_of_a_list_leaves_out_removed_tasks(cli: Cli) -> None:
    start = hour_before(3)
    app = make_app(cli.path)
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("report", EVERY_TEN_MINUTES, name="gone", missed="skip"))
        time.run(app.schedule("report", "0 0 1 1 *", name="kept"))
        time.travel("1m")
        time.crash()
        time.travel("34m")
        time.restart()
        time.travel("1m")
    assert "3 missed in 24 h" in cli("ls").err
    cli("rm", "gone", "--yes")
    assert "missed in 24 h" not in cli("ls").err


def test_status_without_measured_delays_does_not_say_that_nothing_is_saved(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "tick")
    answer = cli("status").out
    assert "Saved  nothing" not in answer
    assert "no delay measured in the last 5 min" in answer
