"""Maps the end of a command's process (exit code, signal, start error) to the outcome of the run."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Sequence
from typing import Final

from ...model.limits import ERROR_CHARACTERS, RESULT_BYTES, shorten
from ...model.outcome import Cancelled, Failed, Outcome, Succeeded
from ...model.reason import Reason
from .output import OutputCollector
from .process import ProcessEnd

_LAST_LINES: Final = 20
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_TRANSIENT: Final = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ETXTBSY})
_LIMIT_SIGNALS: Final = {signal.SIGXCPU: "its limit of processor time", signal.SIGXFSZ: "its limit of file size"}


def make_outcome(
    ending: ProcessEnd, output: OutputCollector, success: Sequence[int], program: str, *, stopped: bool
) -> Outcome:
    """Return the outcome; `success` lists the exit codes that count as success, `stopped` says that Horae ended it."""
    if ending.kind == "exit" and ending.number in success:
        return Succeeded(_result(ending.number, output.output.tail()))
    if stopped:
        return Cancelled("its process was stopped")
    match ending.kind:
        case "exit":
            return _failed(f"exit code {ending.number}", output)
        case "signal":
            return _failed(f"killed by {_describe_signal(ending.number)}", output)
        case "error":
            return _not_started(program, ending.number)
        case "place":
            return Failed(f"its directory cannot be used: {os.strerror(ending.number)}")
        case _:
            return _failed("its launcher process was killed", output)


def _result(code: int, output: str) -> str:
    """Encode exit code and output as JSON, cut from the start of the output to fit the limit."""
    while True:
        text = json.dumps({"exit": code, "output": output}, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode()) <= RESULT_BYTES:
            return text
        output = "…" + output[len(output) // 4 + 2 :]


def _failed(headline: str, hearing: OutputCollector) -> Failed:
    output = hearing.errors.tail() or hearing.output.tail()
    lines = output.splitlines()[-_LAST_LINES:]
    available = ERROR_CHARACTERS - len(headline) - 1
    while len(lines) > 1 and sum(len(line) + 1 for line in lines) > available:
        del lines[0]
    return Failed(shorten("\n".join((headline, *lines)), ERROR_CHARACTERS))


def _describe_signal(number: int) -> str:
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    limit = f", at {_LIMIT_SIGNALS[known]}" if known in _LIMIT_SIGNALS else ""
    return f"signal {number} ({known.name}){limit}"


def _not_started(program: str, number: int) -> Failed:
    reason = Reason.TARGET_UNKNOWN if number in _ABSENT else Reason.TARGET_FAILED
    text = f"the program {program!r} could not be started: {os.strerror(number)}"
    return Failed(shorten(text, ERROR_CHARACTERS), permanent=number not in _TRANSIENT, reason=reason)
