"""Temporary database server: private folder, reserved port, removed even when its owner process dies."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Final, Self, TypedDict

from tests.servers import process_tree
from tests.servers.ports import ReservedPort
from tests.servers.programs import account, program
from tests.servers.watcher import PID_FILE

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 60.0
"""Longest wait for a server on a busy machine; tests measure nothing with it."""
_LOOK_SECONDS: Final = 0.005
_LOOKS: Final = int(PATIENCE / _LOOK_SECONDS)
_LOG_END: Final = 4_000
_MEMORY: Final = "/dev/shm"  # noqa: S108 - each server has a private folder in it
_MEMORY_BYTES: Final = 4 * 1024**3
"""Free space that an in-memory folder needs; a server takes a few hundred megabytes."""


class Server(ABC):
    """`stop` removes everything; `shut_down` and `kill` leave the data, and `restart` continues with them."""

    name: ClassVar[str]
    daemon: ClassVar[str]
    package: ClassVar[str]
    user: ClassVar[str]
    """Account created by the package."""
    ready: ClassVar[str]
    """Log text that means that the server accepts connections."""
    gentle: ClassVar[signal.Signals] = signal.SIGTERM
    """Signal for a clean shutdown that does not wait for clients."""

    def __init__(self, *, in_memory: bool = False) -> None:
        """`in_memory` puts the data into a tmpfs with enough space, if there is one: commits wait for no disk."""
        self._within = _memory_folder() if in_memory else None
        self._reserved: ReservedPort | None = None
        self._watcher: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @abstractmethod
    def _lay_out(self) -> None:
        """Create the initial files in the empty folder; runs once."""

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        assert self._folder is not None, f"{self.name} was not started"
        return self._folder

    @property
    def port(self) -> int:
        assert self._reserved is not None, f"{self.name} was not started"
        return self._reserved.number

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is down"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    def start(self) -> Self:
        try:
            if self._folder is None:
                self._move_in()
            if not self.running:
                self._begin()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server and delete its data; idempotent."""
        if self._watcher is not None:
            self._watcher.communicate()
            self._watcher = None
        self._reap()
        if self._reserved is not None:
            self._reserved.release()
        self._folder = self._reserved = None

    def shut_down(self) -> None:
        if self._process is None:
            return
        process_tree.thaw(self.pid)
        self._process.send_signal(self.gentle)
        self._process.wait(PATIENCE)
        self._reap()

    def kill(self) -> None:
        """Send SIGKILL to all its processes."""
        if self._process is not None:
            process_tree.kill(self.pid)
            self._reap()

    def restart(self) -> None:
        """Restart on the same port with the same data."""
        self.shut_down()
        self.start()

    def freeze(self) -> None:
        """Freeze the server: connections stay open and are accepted, and get no answer."""
        process_tree.freeze(self.pid)

    def thaw(self) -> None:
        process_tree.thaw(self.pid)

    @property
    def _log_path(self) -> Path:
        return self.folder / "server.log"

    def _program(self, name: str) -> str:
        return program(name, package=self.package)

    def _move_in(self) -> None:
        # First, because the package creates the account.
        self._program(self.daemon)
        self._reserved = ReservedPort()
        self._folder = Path(tempfile.mkdtemp(prefix=f"horae-tests-{self.name}-", dir=self._within))
        command = (sys.executable, "-m", "tests.servers.watcher", str(self._folder))
        # A new session, so that a signal to the tests does not end the server.
        self._watcher = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT, start_new_session=True)
        if (user := account(self.user)) is not None:
            shutil.chown(self._folder, user)
        self._lay_out()

    def _run(self, command: Sequence[str], stdout: IO[bytes]) -> subprocess.Popen[bytes]:
        """Run a program under the server's account, folder and session, with a clean environment."""
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(self.folder)},
            start_new_session=True,
            **_rights(self.user),
        )

    def _prepare(self, command: Sequence[str]) -> None:
        """Run one of the server's programs to its end."""
        with self._log_path.open("ab") as log, self._run(command, log) as process:
            code = process.wait()
        assert code == 0, f"{command[0]} ended with {code}:\n{self.log()[-_LOG_END:]}"

    def _begin(self) -> None:
        with self._log_path.open("ab") as log:
            seen = log.tell()
            self._process = self._run(self._command(), log)
        (self.folder / PID_FILE).write_text(str(self.pid))
        for _ in range(_LOOKS):
            try:
                code = self._process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if self.ready in self._log_since(seen):
                    return
            else:
                raise AssertionError(f"{self.name} ended with {code}:\n{self.log()[-_LOG_END:]}")
        raise AssertionError(f"{self.name} does not get ready:\n{self.log()[-_LOG_END:]}")

    def _log_since(self, position: int) -> str:
        with self._log_path.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait(PATIENCE)
            self._process = None
        if self._folder is not None:
            (self._folder / PID_FILE).unlink(missing_ok=True)


def _memory_folder() -> str | None:
    with suppress(OSError):
        if shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES and os.access(_MEMORY, os.W_OK | os.X_OK):
            return _MEMORY
    return None


class _Rights(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def _rights(name: str) -> _Rights:
    user = account(name)
    if user is None:
        return {}
    known = pwd.getpwnam(user)
    return {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": []}
