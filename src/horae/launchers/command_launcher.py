"""Launcher process of one command: starts it, watches it, and kills its whole process tree; run by `process.py` as a file.

The launcher stays the command's parent, because only a living ancestor can reap processes that leave the command's
session (a daemon that forks twice and calls `setsid`): the kernel hands orphans to the nearest "subreaper". So no process
is left when the launcher ends, also when the node is killed: it sees the node's end on its channel and kills the command.

A launcher costs 15 ms and 8 MB for each run. The alternative, code between fork and exec in the node, is not safe next to
threads, and cannot watch the command afterwards. The launcher runs with `-I -S` and imports as little as possible:
therefore requests are NUL-separated fields instead of JSON (10 ms), and signals are numbers (`signal` loads `enum`, 5 ms).
"""
# Pathlib and contextlib take time to load, too.
# ruff: noqa: PTH101, PTH102, PTH114, PTH118, PTH120, SIM105

from __future__ import annotations

import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is the slowest import
    from collections.abc import Callable
    from typing import Final, NoReturn

if TYPE_CHECKING:
    from horae.launchers import process_tree
else:  # run as a file, with nothing but the standard library on the path
    sys.path.append(os.path.dirname(__file__))
    import process_tree

_ENOMEM: Final = 12
_IDLE_POLL_MS: Final = 1_000
_STOP_POLL_MS: Final = 50
"""Poll intervals: the idle one reaps orphans; the short one counts the grace period, or replaces a missing pidfd."""

_LIMITS: Final = {
    b"memory": resource.RLIMIT_AS,
    b"cpu": resource.RLIMIT_CPU,
    b"files": resource.RLIMIT_NOFILE,
    b"processes": resource.RLIMIT_NPROC,
    b"file_size": resource.RLIMIT_FSIZE,
}


class LaunchRequest:
    """The request of the node: NUL-separated `name=value` fields, since neither arguments nor variables hold a NUL."""

    def __init__(self, data: bytes) -> None:
        fields = [field.partition(b"=")[::2] for field in data.split(b"\0")]
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
    channel, request_file, node = (int(word) for word in sys.argv[1:])
    for descriptor in (channel, request_file):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no keywords
    # Only the node stops the command, also at a shutdown of the machine.
    process_tree.ignore_signals(process_tree.SIGTERM)
    process_tree.adopt_orphans()
    order = LaunchRequest(_read_all(request_file))
    try:
        if order.private:
            os.mkdir(order.directory, 0o700)
        _send(channel, _run_command(order, channel, node))
    except OSError as error:
        _send(channel, b"place %d" % (error.errno or 0))
    finally:
        if order.private:
            _remove(order.directory)


def _run_command(order: LaunchRequest, channel: int, node: int) -> bytes:
    """Start the command, watch it until it ended, kill what it left behind; return the message that says how it ended."""
    launcher = os.getpid()
    command = os.fork()
    if command == 0:
        _exec_command(order, channel, launcher)
    _send(channel, b"started %d" % command)
    process_tree.release_streams()
    try:
        status = CommandWatcher(command, channel, node, order.grace).wait_for_end()
    finally:
        process_tree.kill_leftovers(lambda: _kill_all(command))
    if os.WIFSIGNALED(status):
        return b"signal %d" % os.WTERMSIG(status)
    return b"exit %d" % os.WEXITSTATUS(status)


def _exec_command(order: LaunchRequest, channel: int, parent: int) -> NoReturn:
    """Replace the forked child by the command, or send the error that prevents it."""
    message = b"error"
    try:
        os.setsid()
        process_tree.die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        process_tree.reset_signals()
        os.umask(0o077)
        message = b"place"
        os.chdir(order.directory)
        message = b"error"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in order.limits:
            process_tree.limit(_LIMITS[name], int(value))
        os.execve(order.program, order.arguments, order.environment)  # noqa: S606 - no shell is the point
    except (OSError, ValueError, MemoryError) as error:
        _send(channel, b"%s %d" % (message, getattr(error, "errno", None) or _ENOMEM))
    finally:
        os._exit(127)


class CommandWatcher:
    """Waits for the end of the command: on a stop message sends SIGTERM, then SIGKILL after the grace period.

    Sends SIGKILL at once when the node is gone.
    """

    def __init__(self, command: int, channel: int, node: int, grace: int) -> None:
        self._command = command
        self._channel = channel
        self._polls_left = grace // _STOP_POLL_MS
        self._stopping = False
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        # The channel alone is not enough: a fork of the node could hold it open.
        self._node_pidfd = process_tree.open_pidfd(node)
        self._command_pidfd = process_tree.open_pidfd(command)
        for descriptor in (self._node_pidfd, self._command_pidfd):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        if os.getppid() != node:
            self._kill()

    def wait_for_end(self) -> int:
        while (status := process_tree.reap(self._command)) is None:
            ready = self._poll.poll(_STOP_POLL_MS if self._stopping or self._command_pidfd is None else _IDLE_POLL_MS)
            self._handle_ready({descriptor for descriptor, _ in ready})
            if self._stopping and not ready:
                self._count_down()
        return status

    def _handle_ready(self, ready: set[int]) -> None:
        if self._channel in ready:
            if _receive(self._channel):
                self._stop()
            else:
                self._kill_without_node(self._channel)
        if self._node_pidfd is not None and self._node_pidfd in ready:
            self._kill_without_node(self._node_pidfd)

    def _kill_without_node(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._kill()

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            _signal_group(self._command, process_tree.SIGTERM)

    def _count_down(self) -> None:
        self._polls_left -= 1
        if self._polls_left <= 0:
            self._kill()

    def _kill(self) -> None:
        _signal_group(self._command, process_tree.SIGKILL)


def _signal_group(command: int, number: int) -> None:
    """Signal the command's group; only before the command is reaped, since its pid may be reused afterwards."""
    try:
        os.killpg(command, number)
        if os.getpgid(command) != command:  # it has left the group that it was started in
            os.kill(command, number)
    except (ProcessLookupError, PermissionError):
        pass


def _kill_all(command: int) -> None:
    try:
        os.killpg(command, process_tree.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process_tree.signal_all(process_tree.descendants(), process_tree.SIGKILL)


def _remove(folder: bytes) -> None:
    """Remove a directory tree, whatever its permissions; no process is left that could swap in a link meanwhile."""
    _ignore_errors(_make_writable, folder)
    for inner, folders, _ in os.walk(folder):
        for name in folders:
            _ignore_errors(_make_writable, os.path.join(inner, name))
    for inner, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _ignore_errors(os.unlink, os.path.join(inner, name))
        for name in folders:
            path = os.path.join(inner, name)
            _ignore_errors(os.unlink if os.path.islink(path) else os.rmdir, path)
    _ignore_errors(os.rmdir, folder)


def _make_writable(path: bytes) -> None:
    if not os.path.islink(path):
        os.chmod(path, 0o700)


def _ignore_errors(action: Callable[[bytes], None], path: bytes) -> None:
    try:
        action(path)
    except OSError:
        pass


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _receive(channel: int) -> bytes:
    try:
        return os.read(channel, 64)
    except ConnectionError:  # the node is gone, with unread messages
        return b""


def _send(channel: int, message: bytes) -> None:
    process_tree.send(channel, message + b"\n")


if __name__ == "__main__":
    main()
