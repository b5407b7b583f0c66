"""Output of commands: stored as plain text within limits."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from typing import Any

import pytest

from horae.model.limits import RESULT_BYTES
from horae.model.outcome import Succeeded
from horae.model.text.plain_text import strip_control_characters
from horae.targets.command.output import OutputCollector, OutputMask
from horae.testing import RecordingInvocation
from horae.testing.factories import a_task
from tests.unit.targets.command.command_setup import execute, shell


def a_collector(secret: str = "", most: int = 65_536) -> tuple[OutputCollector, RecordingInvocation]:
    invocation = RecordingInvocation(a_task())
    return OutputCollector(invocation, OutputMask([secret]), most), invocation


def collect(*chunks: bytes, secret: str = "", most: int = 65_536) -> tuple[OutputCollector, RecordingInvocation]:
    collector, invocation = a_collector(secret, most)
    for chunk in chunks:
        collector.output.feed(chunk)
    collector.finish()
    return collector, invocation


async def test_a_hundred_megabytes_do_not_grow_memory() -> None:
    script = "yes 'a line of a certain length' | head -c 100000000; echo; echo last words"
    tracemalloc.start()
    try:
        outcome, invocation = await execute(shell(script))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(outcome, Succeeded)
    assert peak < 4 * 1024**2
    result = json.loads(outcome.result or "")
    assert result["output"].endswith("\nlast words")
    (warning,) = invocation.texts("warning")
    assert len("\n".join(invocation.texts("output"))) == 65_536, "the default of `output`"
    assert warning == f"it wrote {100_000_000 + 12 - 65_536:,} bytes more than are kept"


async def test_stdout_and_stderr_are_logged() -> None:
    outcome, invocation = await execute(shell("echo one; echo two >&2; echo three"))
    assert sorted(invocation.texts("output")) == ["one", "three", "two"]
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or "") == {"exit": 0, "output": "one\nthree"}


async def test_a_result_of_bytes_that_are_no_text_fits() -> None:
    spec: dict[str, Any] = {"argv": [sys.executable, "-c", "import os; os.write(1, bytes([255]) * 500_000)"]}
    outcome, invocation = await execute(spec)
    assert isinstance(outcome, Succeeded)
    assert len((outcome.result or "").encode()) <= RESULT_BYTES
    assert set(invocation.texts("output")[0]) == {"\N{REPLACEMENT CHARACTER}", "…"}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("\x1bcreset \x1b(Bplain", "reset plain"),
        ("10%\r50%\r100%\r", "100%"),
        ("bell\x07 null\0 back\x08 del\x7f", "bell null back del"),
        ("tab\tstays", "tab\tstays"),
        ("\u202egnp.exe", "gnp.exe"),
        ("漢字 🌱", "漢字 🌱"),
        ("ends in \x1b", "ends in "),
        ("\x1b]never closed", ""),
    ],
)
def test_terminal_escape_sequences_are_removed(raw: str, shown: str) -> None:
    assert strip_control_characters(raw) == shown


def test_lines_are_put_together_from_pieces() -> None:
    _, invocation = collect(b"on", b"e\ntw", b"o\r\nthr", "é".encode()[:1], "é".encode()[1:], b"e")
    assert invocation.texts("output") == ["one", "two", "thrée"]


@pytest.mark.parametrize("secret", ["hunter2-hunter2", "pass\x1b[0mword long", 'quo"ted-secret', "gehéimnis-secret"])
def test_a_secret_is_hidden_wherever_it_is_cut(secret: str) -> None:
    text = f"before {secret} between {json.dumps(secret)} after\n".encode()
    for place in range(len(text)):
        collector, invocation = collect(text[:place], text[place:], secret=secret)
        assert invocation.texts("output") == ['before ••• between "•••" after']
        assert collector.output.tail() == 'before ••• between "•••" after'


def test_no_beginning_of_a_secret_is_shown_where_the_output_is_cut() -> None:
    secret = "hunter2-of-summer"  # noqa: S105 - made up
    text = b"see: hunter2-of-summer and more of it"
    for most in range(len(text)):
        collector, invocation = collect(text, secret=secret, most=most)
        for shown in (*invocation.texts("output"), collector.output.tail()):
            assert re.search("hun|ter2|of-|sum|mer", shown) is None


def test_no_part_of_a_secret_is_shown_where_a_line_is_cut() -> None:
    secret = "".join(chr(0x4E00 + number) for number in range(50))
    line = (secret * 2_000).encode()
    for start in range(0, 60, 7):
        collector, invocation = collect(b"x" * start + line, secret=secret, most=1_000_000)
        assert set(invocation.texts("output")[0]) <= {"x", "•", "…"}
        assert set(collector.output.tail()) <= {"•"}


def test_output_is_bounded() -> None:
    collector, invocation = collect(b"12345\n67890\nabcde\n", most=8)
    assert invocation.texts("output") == ["12345", "67"]
    assert invocation.texts("warning") == ["it wrote 10 bytes more than are kept"]
    assert collector.output.tail() == "abcde"


def test_output_limit_of_zero_stores_nothing() -> None:
    collector, invocation = collect(b"12345\n", most=0)
    assert invocation.texts("output") == []
    assert collector.output.tail() == ""
    assert invocation.heartbeats == 1
