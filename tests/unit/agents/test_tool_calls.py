"""Tool calls in the log of an agent: lines of stderr, written inside and read by the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.agents.protocol import read_tool_call, write_tool_call
from horae.agents.runner.minds.mcp_tools import report_tool_call
from horae.agents.target.run_log import AgentLog


class Lines:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def log(self, text: str, level: str = "info") -> None:
        self.lines.append((level, text))


def test_call_is_one_line() -> None:
    line = write_tool_call("send\nmessage", {"text": "a\nb"})
    assert "\n" not in line
    assert read_tool_call(line) == 'send message {"text": "a\\nb"}'
    assert read_tool_call("another line") is None
    long = read_tool_call(write_tool_call("x", {"text": "y" * 5_000}))
    assert long is not None
    assert long.endswith("…")


def test_log_of_the_run_has_the_calls_in_order_and_bounded(tmp_path: Path) -> None:
    lines = Lines()
    with AgentLog(tmp_path, "run_1", lines) as log:
        first, second = (write_tool_call(name, {}).encode() + b"\n" for name in ("one", "two"))
        log.add_stderr(first[:9])
        log.add_stderr(first[9:] + b"a warning\n" + second)
        log.add_stderr(write_tool_call("flood", {}).encode().join([b"", *[b"\n"] * 600]))
        log.show_stderr()
    assert lines.lines[:2] == [("tool", "one {}"), ("tool", "two {}")]
    assert len([each for each in lines.lines if each[0] == "tool"]) == 500
    assert [text for level, text in lines.lines if level == "output" and "tool" in text] == []


def test_mind_reports_its_calls_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    report_tool_call("why", {"taskId": "tsk_1"})
    assert read_tool_call(capsys.readouterr().err.rstrip("\n")) == 'why {"taskId": "tsk_1"}'
