"""One run in a process of its own, from its start to its last byte."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Lock, Timer
from typing import Final

from ...model.outcome import Cancelled, Failed, Outcome
from ...ports.target import Invocation
from .hearing import Hearing
from .wire import News, write_news

_COMMAND: Final = ("-P", "-m", "horae.targets.function.child")
_TICK: Final = 1.0
"""How often, in seconds, a silent child is told what has moved on."""
_CHUNK: Final = 65_536
_MOST_DRAINED: Final = 64


class Child:
    """`carry` blocks one thread for as long as the process lives: the kernel's signal at a parent's death goes by the
    thread that started the child, not by its process. `stop` and `kill` may be called from any thread, and again."""

    def __init__(self, order: bytes, invocation: Invocation, grace: float) -> None:
        self._order = order
        self._invocation = invocation
        self._grace = grace
        self._hearing = Hearing(invocation)
        self._lock = Lock()
        self._pid: int | None = None
        self._stopping = False
        self._timer: Timer | None = None
        self._told: News | None = None

    def carry(self) -> Outcome:
        if self._stopping:
            return Cancelled("it was stopped before its process began")
        try:
            process = _start()
        except OSError as error:
            return Failed(f"no process could be started: {error}")
        with process:
            try:
                self._carry(process)
            finally:
                self._bury(process)
        return self._verdict(process.returncode)

    def stop(self) -> None:
        """Ask the whole group to end, and do not wait long for it."""
        self._stopping = True
        self._signal(signal.SIGTERM)
        self._kill_later()

    def kill(self) -> None:
        self._stopping = True
        self._signal(signal.SIGKILL)

    def _carry(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._pid = process.pid
        if self._stopping:  # it was asked to while the process was being made
            self.stop()
        self._tell_order(process)
        with selectors.DefaultSelector() as selector:
            _watch(selector, process, self._hearing)
            while not _has_ended(process):
                for key, _ in selector.select(_TICK):
                    self._hear(selector, key)
                self._tell_news(process)

    def _hear(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        if key.data is None:
            return
        data = os.read(key.fd, _CHUNK)
        if data:
            key.data(data)
        else:
            selector.unregister(key.fileobj)
        if self._hearing.outcome is not None:  # the work is done; what lingers after it is not waited for
            self._kill_later()

    def _tell_order(self, process: subprocess.Popen[bytes]) -> None:
        rest = memoryview(self._order)
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(_number(process.stdin), rest) :]
        os.set_blocking(_number(process.stdin), False)

    def _tell_news(self, process: subprocess.Popen[bytes]) -> None:
        invocation = self._invocation
        if invocation.cancelled and not self._stopping:
            self.stop()
        news = News(invocation.deadline, self._stopping, invocation.yield_requested)
        if news != self._told:
            with suppress(BrokenPipeError, BlockingIOError):  # a child that does not listen misses the news
                os.write(_number(process.stdin), write_news(news))
                self._told = news

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """What it started ends with it. Its number stays taken until it is reaped, so the group is still its own."""
        self._signal(signal.SIGKILL)
        with self._lock:
            self._pid = None
            if self._timer is not None:
                self._timer.cancel()
        for stream, heard in ((process.stdout, self._hearing.report), (process.stderr, self._hearing.output)):
            _drain(_number(stream), heard)
        self._hearing.finish()

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._pid is None:
                return
            for send in (os.killpg, os.kill):  # a function may have left the group that it was started in
                if number is signal.SIGKILL or send is os.killpg:
                    with suppress(ProcessLookupError, PermissionError):
                        send(self._pid, number)

    def _kill_later(self) -> None:
        with self._lock:
            if self._timer is None and self._pid is not None:
                self._timer = Timer(self._grace, self._signal, (signal.SIGKILL,))
                self._timer.daemon = True
                self._timer.start()

    def _verdict(self, code: int) -> Outcome:
        alone = self._invocation.run.alone
        if self._hearing.outcome is not None and not self._stopping:
            return self._hearing.outcome
        if self._stopping:
            return self._hearing.outcome or Cancelled("its process was stopped")
        if self._hearing.unloadable is not None:
            return Failed(self._hearing.unloadable, died_alone=alone)
        return Failed(_death(code), died_alone=alone)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter, and no shell
        (sys.executable, *_COMMAND),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _number(stream: object) -> int:
    return stream.fileno()  # type: ignore[attr-defined,no-any-return]


def _watch(selector: selectors.BaseSelector, process: subprocess.Popen[bytes], hearing: Hearing) -> None:
    selector.register(_number(process.stdout), selectors.EVENT_READ, hearing.report)
    selector.register(_number(process.stderr), selectors.EVENT_READ, hearing.output)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Looks without reaping, where the system can."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except AttributeError:
        return process.poll() is not None
    except ChildProcessError:
        return True


def _drain(pipe: int, heard: object) -> None:
    raise NotImplementedError


def _death(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
        return f"the process died with signal {-code} ({name})"
    return f"the process ended with code {code} before it answered"
