"""Starts one command, watches over it, and ends all that it started. Run by `process.py` as a plain file, never by hand.

It stays as the command's parent, because only a living ancestor can collect what leaves the command's session (a daemon
that forks twice and calls `setsid`): the kernel hands orphans to the nearest "subreaper". So it can promise that nothing
is left when it ends, also when the node is killed: it sees the node's end on its channel, and ends the command at once.

A process of its own for this costs 15 ms and 8 MB for each run. The alternative, code between fork and exec in the node,
is not safe where threads are, and sees nothing afterwards. It is run with `-I -S` and loads no more than it needs: that
is why orders are fields between NULs and not JSON (10 ms), and signals are numbers (`signal` loads `enum`, 5 ms).
"""
# Pathlib and contextlib take time to load, too.
# ruff: noqa: PTH101, PTH102, PTH114, PTH118, PTH123, PTH208, SIM105

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is the slowest of all
    from collections.abc import Callable
    from typing import Final, NoReturn

_ENOMEM: Final = 12
_SIGKILL: Final = 9
_SIGTERM: Final = 15
_LAST_SIGNAL: Final = 31
"""Of those with a name; the few that cannot be changed are left as they are."""
_DEFAULT: Final = 0
_IGNORED: Final = 1
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_IS_LINUX: Final = sys.platform == "linux"
_IDLE: Final = 1_000
_BUSY: Final = 50
"""Milliseconds between two looks: while nothing is expected, orphans are collected; while something is, time is counted."""

_LIMITS: Final = {
    b"memory": resource.RLIMIT_AS,
    b"cpu": resource.RLIMIT_CPU,
    b"files": resource.RLIMIT_NOFILE,
    b"processes": resource.RLIMIT_NPROC,
    b"file_size": resource.RLIMIT_FSIZE,
}
_SYSTEM: Final = ctypes.CDLL(None)
_SYSTEM.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
_SYSTEM.signal.restype = ctypes.c_void_p


class Order:
    """What is to be done: `name=value` fields between NULs. Neither arguments nor variables can hold a NUL."""

    def __init__(self, sheet: bytes) -> None:
        fields = [field.partition(b"=")[::2] for field in sheet.split(b"\0")]
        first = dict(reversed(fields))
        self.program = first[b"program"]
        self.directory = first[b"directory"]
        self.private = first[b"private"] == b"yes"
        self.grace = int(first[b"grace"])
        self.arguments = [value for name, value in fields if name == b"argument"]
        variables = [value.partition(b"=")[::2] for name, value in fields if name == b"variable"]
        self.environment = dict(variables)
        self.limits = [value.partition(b":")[::2] for name, value in fields if name == b"limit"]


def main() -> None:
    channel, sheet, node = (int(word) for word in sys.argv[1:])
    for number in (channel, sheet):
        os.set_inheritable(number, False)  # noqa: FBT003 - it takes no keywords
    _SYSTEM.signal(_SIGTERM, _IGNORED)  # the node decides, also when somebody asks the whole machine to end
    if _IS_LINUX:
        _SYSTEM.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    order = Order(_read_all(sheet))
    try:
        if order.private:
            os.mkdir(order.directory, 0o700)
        _tell(channel, _carry(order, channel, node))
    except OSError as error:
        _tell(channel, b"place %d" % (error.errno or 0))
    finally:
        if order.private:
            _remove(order.directory)


def _carry(order: Order, channel: int, node: int) -> bytes:
    me = os.getpid()
    command = os.fork()
    if command == 0:
        _become(order, channel, me)
    _tell(channel, b"started %d" % command)
    _let_go_of_streams()
    try:
        status = Watch(command, channel, node, order.grace).until_over()
    finally:
        _sweep(command)
    if os.WIFSIGNALED(status):
        return b"signal %d" % os.WTERMSIG(status)
    return b"exit %d" % os.WEXITSTATUS(status)


def _become(order: Order, channel: int, parent: int) -> NoReturn:
    """The fork turns into the command, or tells why it cannot."""
    place = b"error"
    try:
        os.setsid()
        if _IS_LINUX:
            _SYSTEM.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        # What is ignored is inherited: some by Python's own choice, some where a node was begun in the background.
        for number in range(1, _LAST_SIGNAL + 1):
            _SYSTEM.signal(number, _DEFAULT)
        os.umask(0o077)
        place = b"place"
        os.chdir(order.directory)
        place = b"error"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in order.limits:
            _limit(_LIMITS[name], int(value))
        os.execve(order.program, order.arguments, order.environment)  # noqa: S606 - no shell is the point
    except (OSError, ValueError, MemoryError) as error:
        _tell(channel, b"%s %d" % (place, getattr(error, "errno", None) or _ENOMEM))
    finally:
        os._exit(127)


def _limit(which: int, value: int) -> None:
    """A second of processor time between the warning and the end; and never more than this process may have itself."""
    hard = value + 1 if which == resource.RLIMIT_CPU else value
    most = resource.getrlimit(which)[1]
    if most != resource.RLIM_INFINITY:
        value, hard = min(value, most), min(hard, most)
    resource.setrlimit(which, (value, hard))


class Watch:
    """Looks after the command until it has ended. Told to stop it asks politely, once, and counts; left alone it kills."""

    def __init__(self, command: int, channel: int, node: int, grace: int) -> None:
        self._command = command
        self._channel = channel
        self._patience = grace // _BUSY
        self._stopping = False
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        # The channel alone could be held open by a fork of the node that knows nothing of it.
        self._node = _process_number(node)
        self._wakes = _process_number(command)
        for number in (self._node, self._wakes):
            if number is not None:
                self._poll.register(number, select.POLLIN)
        if os.getppid() != node:
            self._kill()

    def until_over(self) -> int:
        while (status := _collect(self._command)) is None:
            found = self._poll.poll(_BUSY if self._stopping or self._wakes is None else _IDLE)
            self._notice({number for number, _ in found})
            if self._stopping and not found:
                self._count()
        return status

    def _notice(self, found: set[int]) -> None:
        if self._channel in found:
            if _heard(self._channel):
                self._stop()
            else:
                self._leave(self._channel)
        if self._node is not None and self._node in found:
            self._leave(self._node)

    def _leave(self, number: int) -> None:
        self._poll.unregister(number)
        self._kill()

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            _signal_group(self._command, _SIGTERM)

    def _count(self) -> None:
        self._patience -= 1
        if self._patience <= 0:
            self._kill()

    def _kill(self) -> None:
        _signal_group(self._command, _SIGKILL)


def _collect(command: int) -> int | None:
    """Everything that has ended; the status of the command when that is among it."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == command:
            return status
        if pid == 0:
            return None


def _signal_group(command: int, number: int) -> None:
    """Only while the command is not collected yet: until then its number is its own."""
    try:
        os.killpg(command, number)
        if os.getpgid(command) != command:  # it has left the group that it was started in
            os.kill(command, number)
    except (ProcessLookupError, PermissionError):
        pass


def _sweep(command: int) -> None:
    """Kill what the command left behind, generation after generation: the children of the dead become ours."""
    try:
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                _kill_all(command)
                os.waitpid(-1, 0)
    except ChildProcessError:
        if not _IS_LINUX:  # where orphans do not come here, those of the group can still be reached
            _kill_all(command)


def _kill_all(command: int) -> None:
    try:
        os.killpg(command, _SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    for pid in _descendants():
        try:
            os.kill(pid, _SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if _IS_LINUX else ():
        if name.isdigit() and (parent := _parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(os.getpid(), ()))
    for pid in found:  # grows while it is walked
        found.extend(children.get(pid, ()))
    return found


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])  # a name may hold anything, also a ")"
    except OSError:
        return None


def _process_number(pid: int) -> int | None:
    """A number that becomes readable when a process ends; None where the system has no such thing, or it has ended."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _let_go_of_streams() -> None:
    """Only the command and its own hold them now, so that the node sees when they are closed."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _remove(folder: bytes) -> None:
    """Whatever the command did to its permissions; nobody is left who could put a link in the way."""
    _without_fail(_open_up, folder)
    for inner, folders, _ in os.walk(folder):
        for name in folders:
            _without_fail(_open_up, os.path.join(inner, name))
    for inner, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _without_fail(os.unlink, os.path.join(inner, name))
        for name in folders:
            path = os.path.join(inner, name)
            _without_fail(os.unlink if os.path.islink(path) else os.rmdir, path)
    _without_fail(os.rmdir, folder)


def _open_up(path: bytes) -> None:
    if not os.path.islink(path):
        os.chmod(path, 0o700)


def _without_fail(deed: Callable[[bytes], None], path: bytes) -> None:
    try:
        deed(path)
    except OSError:
        pass


def _read_all(number: int) -> bytes:
    with open(number, "rb") as file:
        return file.read()


def _heard(channel: int) -> bytes:
    try:
        return os.read(channel, 64)
    except ConnectionError:  # the node is gone, and had not read what it was told
        return b""


def _tell(channel: int, word: bytes) -> None:
    try:
        os.write(channel, word + b"\n")
    except OSError:  # the node is gone
        pass


if __name__ == "__main__":
    main()
