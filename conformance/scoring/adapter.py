"""A running adapter: one question, one answer, within a time limit, started again whenever it dies or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from conformance.scoring.answers import Answer, Crashed, Hung, read_answer

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_START = 60.0


class AdapterUnavailableError(Exception):
    """The adapter did not come up: its library is not installed, or it does not speak the protocol."""


@dataclass(frozen=True, slots=True)
class Library:
    """What an adapter says about itself in its first line."""

    name: str
    version: str
    zones: str


class Adapter:
    def __init__(self, command: Sequence[str], limit: float) -> None:
        self._command = list(command)
        self._limit = limit
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the adapter
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        try:
            self.library = self._start()
        except AdapterUnavailableError:
            self._errors.close()
            raise

    def ask(self, question: dict[str, str]) -> Answer:
        if self._process is None:
            self._start()
        try:
            self._send(question)
            line = self._lines.get(timeout=self._limit)
        except Empty:
            self._stop()
            return Hung(f"no answer within {self._limit:g} s")
        except OSError:
            line = None
        message = _decode(line)
        if line is None or message is None:
            self._stop()
            return Crashed(self._last_words())
        return read_answer(message, question["id"])

    def close(self) -> None:
        self._stop()
        self._errors.close()

    def _start(self) -> Library:
        self._errors.seek(0)
        self._errors.truncate()
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=_environment(),
                cwd=ROOT,
            )
        except OSError as error:
            raise AdapterUnavailableError(str(error)) from error
        self._lines = SimpleQueue()
        Thread(target=_pump, args=(self._process.stdout, self._lines), daemon=True).start()
        return self._greeting()

    def _greeting(self) -> Library:
        try:
            hello = _decode(self._lines.get(timeout=LONGEST_START))
        except Empty:
            hello = None
        if not isinstance(hello, dict) or not {"library", "version"} <= hello.keys():
            self._stop()
            raise AdapterUnavailableError(self._last_words())
        return Library(str(hello["library"]), str(hello["version"]), str(hello.get("zones", "unknown")))

    def _send(self, question: dict[str, str]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _close(pipe)
        self._process = None

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if "Error" in line or "Exception" in line] or lines
        return next((line.strip() for line in reversed(telling) if line.strip()), "it ended without a word")[:300]


def _environment() -> dict[str, str]:
    """Adapters import the kit from anywhere, and Python's zones come from the tzdata package, not from the system."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONTZPATH": "", "TZ": "UTC"}


def _pump(source: IO[bytes] | None, lines: SimpleQueue[bytes | None]) -> None:
    """Moves lines from the process to the queue, so that reading one can have a time limit."""
    try:
        for line in source or ():
            lines.put(line)
    except (OSError, ValueError):
        pass  # the pipe was closed under us: the adapter is being stopped
    lines.put(None)


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        pass  # a dead process cannot take what was still to be written


def _decode(line: bytes | None) -> Any:
    try:
        return None if line is None else json.loads(line)
    except ValueError:
        return None
