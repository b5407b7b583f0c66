"""Log injection: logged text cannot forge a line, control a terminal, or change the direction of text."""

from __future__ import annotations

import io
import json
import logging
import re
from pathlib import Path
from typing import Final

import pytest

from horae.observe.logs import bind_ids, configure_logging
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
    "lone \ud800 surrogate",
)
"""Line breaks, C0 and C1 escapes, direction marks, invisible characters and a lone surrogate."""


def fail(text: str) -> None:
    raise ValueError(text)


def _log_everywhere(text: str) -> None:
    """Log the text in a message, an argument, a traceback, and from a library."""
    log = logging.getLogger("horae.test")
    log.warning("the task %s failed", text)
    log.warning(text.replace("%", ""))
    logging.getLogger("uvicorn.error").error("from a library: %s", text)
    try:
        fail(text)
    except ValueError:
        log.exception("it broke")


async def _log_with_id(text: str) -> None:
    bind_ids(task=text)
    logging.getLogger("horae").warning("with an id")


def _check_lines(text: str) -> None:
    for line in text.split("\n")[:-1]:
        assert PREFIX.match(line), line
        assert all(sign.isprintable() or sign == "\t" for sign in line), line.encode(errors="backslashreplace")
    text.encode()


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
async def test_text_log_escapes_line_breaks_and_control_characters(log_output: io.StringIO, text: str) -> None:
    configure_logging("text", "debug", log_output)
    _log_everywhere(text)
    await _log_with_id(text)
    output = log_output.getvalue()
    _check_lines(output)
    assert not re.search(rf"^{FORGED}", output, re.MULTILINE)


def test_continuation_lines_repeat_the_prefix(log_output: io.StringIO) -> None:
    configure_logging("text", "info", log_output)
    try:
        fail("first\nsecond")
    except ValueError:
        logging.getLogger("horae").exception("it broke")
    first, *rest = log_output.getvalue().splitlines()
    assert first.endswith(" ERROR it broke")
    assert rest[0] == first.replace("it broke", "| Traceback (most recent call last):")
    assert rest[-1].endswith(" ERROR | second")


def test_printable_text_of_any_language_is_unchanged(log_output: io.StringIO) -> None:
    configure_logging("text", "info", log_output)
    text = "每天早上 9 点　提醒\tüber 10\u00a0€"
    logging.getLogger("horae").warning(text)
    assert text in log_output.getvalue()


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_json_log_escapes_the_same_and_is_read_back_unchanged(log_output: io.StringIO, text: str) -> None:
    configure_logging("json", "debug", log_output)
    _log_everywhere(text)
    output = log_output.getvalue()
    assert all(sign.isprintable() for line in output.split("\n") for sign in line)
    output.encode()
    events = [json.loads(line)["event"] for line in output.split("\n")[:-1]]
    assert f"the task {text} failed" in events


def test_output_of_a_command_cannot_forge_log_lines_of_a_node(tmp_path: Path) -> None:
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
