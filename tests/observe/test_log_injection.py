"""Log injection: nothing that is logged can forge a line, steer a terminal, or turn the direction of text."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from horae.observe.log_context import bind_ids
from horae.observe.logs import configure_logging
from tests.cli.operating.deployment import Deployment

PREFIX: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3} \+00:00 (DEBUG|INFO|WARNING|ERROR) (\| )?")
FORGED: Final = "2026-01-01 00:00:00.000 +00:00 ERROR the disk was erased"
HOSTILE: Final = (
    f"x\n{FORGED}",
    f"x\r\n{FORGED}",
    f"x\r{FORGED}",
    f"x\x0b{FORGED}",
    f"x\x85{FORGED}",
    f"x\u2028{FORGED}",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31mred",
    "\x00\x07\x08\x7f",
    "txt.\u202eexe\u202c",
    "\u2066isolated\u2069 \u200e \u200f \u061c",
    "zero\u200bwidth \ufeff \U000e0041",
    "half \ud800 letter",
)
"""Line breaks of every kind, escapes of C0 and C1, marks of direction, invisible and broken characters."""


@pytest.fixture
def heard() -> Iterator[io.StringIO]:
    """Logging as a fresh process has it: a server that another test ran leaves loggers that do not propagate."""
    loggers = [logging.getLogger(name) for name in (None, "horae", "horae.test", "uvicorn", "uvicorn.error")]
    before = [(each, each.handlers[:], each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.handlers[:], each.propagate = [], True
    yield io.StringIO()
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


def fail(said: str) -> None:
    raise ValueError(said)


def _log_everywhere(said: str) -> None:
    """In a message, an argument, an id, a traceback, and from a library."""
    log = logging.getLogger("horae.test")
    log.warning("the task %s failed", said)
    log.warning(said.replace("%", ""))
    logging.getLogger("uvicorn.error").error("from a library: %s", said)
    try:
        fail(said)
    except ValueError:
        log.exception("it broke")


async def _bound(said: str) -> None:
    bind_ids(task=said)
    logging.getLogger("horae").warning("with an id")


def _check_lines(text: str) -> None:
    for line in text.split("\n")[:-1]:
        assert PREFIX.match(line), line
        assert all(sign.isprintable() or sign == "\t" for sign in line), line.encode(errors="backslashreplace")
    text.encode()


@pytest.mark.parametrize("said", HOSTILE, ids=ascii)
async def test_text_log_spells_out_what_could_forge_a_line_or_steer_a_terminal(heard: io.StringIO, said: str) -> None:
    configure_logging("text", "debug", heard)
    _log_everywhere(said)
    await _bound(said)
    text = heard.getvalue()
    _check_lines(text)
    assert not re.search(rf"^{FORGED}", text, re.MULTILINE)


def test_continuation_lines_repeat_the_prefix(heard: io.StringIO) -> None:
    configure_logging("text", "info", heard)
    try:
        fail("first\nsecond")
    except ValueError:
        logging.getLogger("horae").exception("it broke")
    first, *rest = heard.getvalue().splitlines()
    assert first.endswith(" ERROR it broke")
    assert rest[0] == first.replace("it broke", "| Traceback (most recent call last):")
    assert rest[-1].endswith(" ERROR | second")


def test_plain_text_of_any_language_stays_as_it_is(heard: io.StringIO) -> None:
    configure_logging("text", "info", heard)
    said = "每天早上 9 点　提醒\tüber 10\u00a0€"
    logging.getLogger("horae").warning(said)
    assert said in heard.getvalue()


@pytest.mark.parametrize("said", HOSTILE, ids=ascii)
def test_json_log_escapes_the_same_and_is_read_back_unchanged(heard: io.StringIO, said: str) -> None:
    configure_logging("json", "debug", heard)
    _log_everywhere(said)
    text = heard.getvalue()
    assert all(sign.isprintable() for line in text.split("\n") for sign in line)
    text.encode()
    events = [json.loads(line)["event"] for line in text.split("\n")[:-1]]
    assert f"the task {said} failed" in events


def test_installed_node_logs_what_a_command_said_without_letting_it_forge_lines(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    script = deployment.write("loud.py", f"import sys\nsys.exit('boom\\n{FORGED}\\n\\x1b[31mred')\n")
    allowed = {"HORAE_COMMAND_ALLOW": "*", "HORAE_LOG_LEVEL": "debug"}
    added = deployment.horae(
        "add", "now", "--name", "loud", "--retries", "0", "--command", "--", "python3", str(script), environment=allowed
    )
    assert added.returncode == 0, added.stderr
    up = deployment.up("--json", environment={**allowed, "HORAE_LOG": "text"})
    try:
        line = up.expect("| 2026-01-01")
        assert not line.startswith(FORGED[:10])
        assert "\x1b" not in "".join(up.output)
    finally:
        deployment.end()
