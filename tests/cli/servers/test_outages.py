"""Outage of a database server: `horae worker` and `horae up` wait, and stop cleanly at any time."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.cli.operating.deployment import Deployment, Up
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.server import Server

APP: Final = """
from horae import Horae

app = Horae()


@app.task("every 1s")
def tick() -> None:
    print("ticked", flush=True)
"""
WAITS: Final = "is paused and tried again"
GOES_ON: Final = "goes on: the store answers again"
OUTAGE_SECONDS: Final = 30.0
"""Longest outage; it ends earlier when all loops have noticed it."""
NOTICE_SECONDS: Final = 30.0
CLOCK: Final = SystemClock()


class Outage:
    """A database server that the test stops and starts, and a deployment on it."""

    def __init__(self, folder: Path, server: Server, url: str) -> None:
        self.server = server
        self.deployment = Deployment(folder)
        self.deployment.url = url
        self.deployment.write("ticking.py", APP)

    def start(self, command: str) -> Up:
        api = {"HORAE_API": "on", "HORAE_PORT": "0"} if command.startswith("up") else {}
        name, *rest = command.split()
        up = self.deployment.up(*rest, environment=api, command=name)
        up.expect_all("  Ends ", *(["  API "] if api else []))
        return up


@pytest.fixture
def postgres_outage(tmp_path: Path) -> Iterator[Outage]:
    with PostgresServer() as server:
        made = Outage(tmp_path, server, server.new_database())
        yield made
        made.deployment.end()


@pytest.fixture
def mariadb_outage(tmp_path: Path) -> Iterator[Outage]:
    with MariaDBServer() as server:
        made = Outage(tmp_path, server, server.new_database())
        yield made
        made.deployment.end()


def wait_for_lines(up: Up, *wanted: str) -> None:
    """Wait for lines with these words, or the timeout: the exit code is checked before the wording."""
    deadline = CLOCK.steady() + OUTAGE_SECONDS
    for words in wanted:
        up.wait_for_line(words, deadline - CLOCK.steady())


def wait_for_pauses(up: Up, loops: Sequence[str]) -> None:
    wait_for_lines(up, *(f"{loop} {WAITS}" for loop in loops))


def wait_for_ends(up: Up) -> None:
    """Wait until every paused loop has reported that it continues."""
    wait_for_lines(up, *(f"{loop}{GOES_ON}" for loop in loops_with(WAITS, up.output)))


def loops_with(words: str, output: list[str]) -> list[str]:
    return [line.split(words)[0].split("WARNING ")[1] for line in output if words in line]


def stop(up: Up) -> list[str]:
    """Send SIGTERM, check for a clean exit, and return the output."""
    up.signal(signal.SIGTERM)
    code = up.ends()
    assert (code, [line for line in up.output if "Traceback" in line]) == (0, []), "\n".join(up.output)
    return up.output


def assert_two_lines_per_loop(output: list[str], loops: Sequence[str]) -> None:
    begins, ends = loops_with(WAITS, output), loops_with(GOES_ON, output)
    assert {f"{loop} " for loop in loops} <= set(begins), output
    assert len(begins) == len(set(begins)), output
    assert sorted(ends) == sorted(begins), output


def test_worker_waits_out_a_stopped_postgres_and_exits_zero(postgres_outage: Outage) -> None:
    loops = ("claiming", "lease renewal", "notice of waiting tasks")
    up = postgres_outage.start("worker ticking.py")
    up.expect("ticked")
    postgres_outage.server.shut_down()
    wait_for_pauses(up, loops)
    postgres_outage.server.start()
    up.expect("ticked")
    wait_for_ends(up)
    # The loop that reports tasks without a node also works.
    postgres_outage.deployment.ok("add", "now", "--function", "absent_everywhere")
    assert up.wait_for_line("for a node that can run", NOTICE_SECONDS), "\n".join(up.output)
    assert_two_lines_per_loop(stop(up), loops)


@pytest.mark.parametrize("command", ["up", "up ticking.py"], ids=["two processes", "one process"])
def test_up_waits_out_a_stopped_postgres_and_exits_zero(postgres_outage: Outage, command: str) -> None:
    loops = ("sealing of the audit trail", "waking by notification")
    up = postgres_outage.start(command)
    postgres_outage.server.shut_down()
    wait_for_pauses(up, loops)
    postgres_outage.server.start()
    postgres_outage.deployment.ok("ls")
    wait_for_ends(up)
    assert_two_lines_per_loop(stop(up), loops)


@pytest.mark.parametrize("command", ["worker", "up", "up ticking.py"])
def test_sigterm_while_postgres_is_down_exits_zero(postgres_outage: Outage, command: str) -> None:
    up = postgres_outage.start(command)
    postgres_outage.server.shut_down()
    wait_for_lines(up, WAITS)
    output = stop(up)
    assert any("stopped" in line for line in output)
    assert loops_with(WAITS, output)


def test_worker_waits_out_a_killed_mariadb_and_exits_zero(mariadb_outage: Outage) -> None:
    up = mariadb_outage.start("worker ticking.py")
    up.expect("ticked")
    mariadb_outage.server.kill()
    wait_for_pauses(up, ["lease renewal"])
    mariadb_outage.server.start()
    up.expect("ticked")
    wait_for_ends(up)
    assert_two_lines_per_loop(stop(up), ["lease renewal"])


def test_store_down_at_the_start_is_one_sentence(postgres_outage: Outage) -> None:
    postgres_outage.server.shut_down()
    done = postgres_outage.deployment.horae("up", environment={"HORAE_API": "on", "HORAE_PORT": "0"})
    assert done.returncode == 7
    assert "Traceback" not in done.stderr + done.stdout
