"""Fork server for the `horae` command: each command runs in a fork of one process that has imported the command line.

A fork has its own process, descriptors, folder and environment, as `python -m horae` has; it saves the imports, which
cost more processor time than most commands. The server itself is this file, run as a script.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

MODULE: Final = (sys.executable, "-P", "-m", "horae")
"""Command that a fork replaces."""
_INTERPRETER: Final = "PYTHON"
_LOCALE: Final = ("LC_ALL", "LC_CTYPE", "LANG")
_MOST_BYTES: Final = 131_072
_STARTING: Final = threading.Lock()
"""Largest request: arguments and environment."""
_PACKAGES: Final = (
    "cli",
    "app",
    "forecast",
    "interchange",
    "node",
    "runtime",
    "schedule",
    "service",
    "stores",
    "transfer",
    "wire",
)
_LIBRARIES: Final = ("click", "platformdirs", "pydantic", "sqlite3", "zoneinfo")
"""Libraries that the packages import lazily."""


def run(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run `horae` to its end, as `subprocess.run` would run `python -P -m horae`; raises as that does."""
    if not is_same_interpreter(env):
        command = [*MODULE, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=env, timeout=timeout, check=False)
    given, out, err = streams = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.write(given, stdin)
        os.lseek(given, 0, os.SEEK_SET)
        fork = Fork(arguments, cwd=cwd, env=env, streams=streams)
        try:
            code = fork.wait(timeout)
        except subprocess.TimeoutExpired:
            fork.kill()
            fork.wait(timeout)
            raise
        return subprocess.CompletedProcess(fork.args, code, _content(out), _content(err))
    finally:
        for each in streams:
            os.close(each)


def is_same_interpreter(env: Mapping[str, str]) -> bool:
    """Return whether a fork can have this environment: variables read at interpreter start have no effect in it."""
    known = _interpreter_environment()
    ours = {name: value for name, value in env.items() if name.startswith(_INTERPRETER) and value}
    codeset = next((env[name] for name in _LOCALE if env.get(name)), "")
    return ours.items() <= known.items() and codeset.upper().endswith("UTF-8")


def _interpreter_environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name.startswith(_INTERPRETER) and value}
    return {**inherited, "PYTHONUTF8": "1"}


class _Server:
    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_interpreter_environment()},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """Close the socket; the server process ends when no client is left."""
        self._line.close()
        self._process.wait()

    def send(self, request: bytes, descriptors: Sequence[int]) -> None:
        socket.send_fds(self._line, [request], list(descriptors))


class Fork:
    """A running `horae` command, with the methods of `subprocess.Popen` that tests need."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
        new_session: bool = False,
    ) -> None:
        """`streams` are its standard input, output and error; they stay open here."""
        self.args = [*MODULE, *arguments]
        self._status, theirs = os.pipe()
        request = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "new_session": new_session}
        _server().send(json.dumps(request).encode(), [*streams, theirs])
        os.close(theirs)
        self.pid = int(self._word(None))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal; raises `TimeoutExpired`."""
        if self.returncode is None:
            self.returncode = int(self._word(timeout))
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)

    def _word(self, timeout: float | None) -> bytes:
        if not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        word = b""
        while not word.endswith(b"\n"):
            some = os.read(self._status, 1)
            assert some, "the fork server is gone"
            word += some
        return word


def _server() -> _Server:
    # Threads of a test may run commands at once: one of them starts the server.
    with _STARTING:
        return _started_server()


@cache
def _started_server() -> _Server:
    return _Server()


def _content(file: int) -> bytes:
    size = os.fstat(file).st_size
    return os.pread(file, size, 0)


def _serve(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Serve requests; return the request and its descriptors in a fork, or None in the server when it ends."""
    going: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([line.fileno(), *going], [], [])[0]:
            if ready != line.fileno():
                pid, status = going.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                os.write(status, b"%d\n" % code)
                os.close(ready)
                os.close(status)
                continue
            data, descriptors, _, _ = socket.recv_fds(line, _MOST_BYTES, 4)
            if not data:
                return None
            *streams, status = descriptors
            pid = os.fork()
            if pid == 0:
                line.close()
                os.close(status)
                for handle, (_, other) in going.items():
                    os.close(handle)
                    os.close(other)
                return json.loads(data), streams
            os.write(status, b"%d\n" % pid)
            going[os.pidfd_open(pid)] = (pid, status)
            for each in streams:
                os.close(each)


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Set up this fork like a new `python -P -m horae` process."""
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    if request["new_session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = [str(Path(import_module("horae").__file__ or "").parent / "__main__.py"), *request["arguments"]]
    sys.orig_argv = [*MODULE, *request["arguments"]]
    sys.stdin = sys.__stdin__ = TextIOWrapper(os.fdopen(0, "rb"), "utf-8", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = TextIOWrapper(  # type: ignore[misc]
        os.fdopen(1, "wb"), "utf-8", "surrogateescape", line_buffering=os.isatty(1)
    )
    sys.stderr = sys.__stderr__ = TextIOWrapper(  # type: ignore[misc]
        os.fdopen(2, "wb"), "utf-8", "backslashreplace", line_buffering=True
    )


def _run_command() -> int:
    try:
        import_module("horae.cli.main").main()
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        print(ending.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
        return 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    return 0


def _preload() -> None:
    for name in (*_LIBRARIES, *(f"horae.{package}" for package in _PACKAGES)):
        module = import_module(name)
        if name not in _LIBRARIES:
            for found in walk_packages(getattr(module, "__path__", ()), f"{name}."):
                import_module(found.name)


def main() -> None:
    _preload()
    gc.freeze()
    found = _serve(socket.socket(fileno=int(sys.argv[1])))
    if found is not None:
        _become(*found)
        code = _run_command()
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
