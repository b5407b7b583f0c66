"""Launcher process of one agent: prepares it, watches it, and kills it with its host; run by `supervised.py` as a file.

The launcher is a single thread and the parent of the sandbox, so that "die with the parent" holds, and it adopts what the
sandbox leaves behind. It sees the end of its host on a channel and by a pidfd, kills the agent then, and removes its
container. As root it gives the agent a mount namespace in which the mounts are staged under /tmp: a path is opened without
following links before it is mounted, and an unprivileged sandbox can bind it though its folder is private. Linux only.
"""
# Pathlib and contextlib take time to load.
# ruff: noqa: PTH115, PTH120, PTH123, S606

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is the slowest import
    from typing import Any, Final, NoReturn

if TYPE_CHECKING:
    from horae.launchers import process_tree
else:  # run as a file, with nothing but the standard library on the path
    sys.path.append(os.path.dirname(__file__))
    import process_tree

_PR_SET_NO_NEW_PRIVS: Final = 38
_CLONE_NEWNS: Final = 0x20000
_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_REMOUNT: Final = 32
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_PRIVATE: Final = 1 << 18
_S_IFMT: Final = 0o170000
_S_IFLNK: Final = 0o120000
_STAGE: Final = "/tmp"  # noqa: S108 - a new tmpfs of this process's own mount namespace
_POLL_MS: Final = 1_000
_TICK_MS: Final = 20
_COMMAND_SECONDS: Final = 20
_RLIMITS: Final = {
    "address_space": resource.RLIMIT_AS,
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
}


def main() -> None:
    channel, request_file, host = (int(word) for word in sys.argv[1:4])
    for descriptor in (channel, request_file):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no keywords
    process_tree.ignore_signals(process_tree.SIGTERM, 1, 2)  # only the host stops the agent
    with open(request_file, "rb") as file:
        request = json.load(file)
    if request["adopts"]:
        process_tree.adopt_orphans()
    process_tree.send(channel, _supervise(request, channel, host).encode())


def _supervise(request: dict[str, Any], channel: int, host: int) -> str:
    status_read, status_write = os.pipe()
    gate_read, gate_write = os.pipe()
    failure_read, failure_write = os.pipe()
    launcher = os.getpid()
    agent = os.fork()
    if agent == 0:
        for descriptor in (status_read, gate_write, failure_read):
            os.close(descriptor)
        _exec_agent(request, launcher, (status_write, gate_read, failure_write))
    for descriptor in (status_write, gate_read, failure_write):
        os.close(descriptor)
    process_tree.release_streams()
    with open(failure_read, "rb") as file:
        failure = file.read()
    if failure:
        process_tree.kill_leftovers(lambda: process_tree.signal_all(process_tree.descendants(), process_tree.SIGKILL))
        return "not_started " + failure.decode(errors="replace")
    if request["user"] is not None:
        # As the user of the agent: enough to watch, limit and kill it.
        _drop_privileges(*request["user"])
    watcher = AgentWatcher(request, agent, channel, host)
    if request["gated"]:
        watcher.limit_sandbox(status_read)
        process_tree.send(gate_write, b"go")
    os.close(gate_write)
    code = watcher.wait_for_end()
    process_tree.kill_leftovers(lambda: process_tree.signal_all(process_tree.descendants(), process_tree.SIGKILL))
    if watcher.is_stopped and request["kill"]:
        _run_command(request["kill"], request["environment"])
    has_run = not request["has_status"] or b"exit-code" in _read_available(status_read)
    return f"exit {code}" if has_run or watcher.is_stopped else "not_started"


class AgentWatcher:
    """Waits for the end of the agent: on a stop message asks it to end, then kills it; kills it when the host is gone."""

    def __init__(self, request: dict[str, Any], agent: int, channel: int, host: int) -> None:
        self._request = request
        self._agent = agent
        self._channel = channel
        self.is_stopped = False
        self._milliseconds_left = -1
        self._poll = select.poll()
        # The channel alone is not enough: a fork of the host could hold it open.
        self._host_descriptor = process_tree.open_pidfd(host)
        self._agent_descriptor = os.pidfd_open(agent)
        for descriptor in (channel, self._agent_descriptor, self._host_descriptor):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        if os.getppid() != host:
            self._kill()

    def limit_sandbox(self, status: int) -> None:
        """Limit the processes of the sandbox, which waits: in its user namespace only its own ones count."""
        line = b""
        while not line.endswith(b"\n") and (data := os.read(status, 1)):
            line += data
        if line:
            most = self._request["processes"]
            resource.prlimit(json.loads(line)["child-pid"], resource.RLIMIT_NPROC, (most, most))

    def wait_for_end(self) -> int:
        while (status := process_tree.reap(self._agent)) is None:
            ready = {each for each, _ in self._poll.poll(_TICK_MS if self._milliseconds_left >= 0 else _POLL_MS)}
            if self._channel in ready:
                self._read_channel()
            if self._host_descriptor in ready:
                self._poll.unregister(self._host_descriptor)
                self._kill()
            if not ready and self._milliseconds_left >= 0:
                self._milliseconds_left -= _TICK_MS
                if self._milliseconds_left < 0:
                    self._kill()
        return os.waitstatus_to_exitcode(status)

    def _read_channel(self) -> None:
        try:
            message = os.read(self._channel, 64)
        except ConnectionError:
            message = b""
        if not message:
            self._poll.unregister(self._channel)
            self._kill()
            return
        # The last message counts: "stop" and the milliseconds of its grace.
        self._stop(int(message.split()[-1]))

    def _stop(self, milliseconds: int) -> None:
        first, self.is_stopped = not self.is_stopped, True
        if milliseconds <= 0:
            self._kill()
            return
        self._milliseconds_left = milliseconds
        if first and self._request["stop"]:
            _start_command(self._request["stop"], self._request["environment"])
        elif first:
            # The program of a sandbox ignores signals for the sandbox, and dies with it.
            own = {self._agent} if self._request["has_status"] else set()
            process_tree.signal_all((pid for pid in process_tree.descendants() if pid not in own), process_tree.SIGTERM)

    def _kill(self) -> None:
        self.is_stopped = True
        self._milliseconds_left = -1
        if self._request["kill"]:
            _run_command(self._request["kill"], self._request["environment"])
        process_tree.signal_all([self._agent], process_tree.SIGKILL)


def _exec_agent(request: dict[str, Any], parent: int, descriptors: tuple[int, int, int]) -> NoReturn:
    """Replace the forked child by the agent, or write the error that prevents it."""
    status, gate, failure = descriptors
    step = "start"
    try:
        os.setsid()
        process_tree.reset_signals()
        os.umask(0o077)
        step = "cgroup"
        for folder in request["cgroups"]:
            with open(f"{folder}/cgroup.procs", "w") as file:
                file.write("0")
        step = "mount"
        if request["stage"]:
            _stage(request["stage"])
        step = "limit"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in request["rlimits"].items():
            process_tree.limit(_RLIMITS[name], value)
        step = "user"
        if request["user"] is not None:
            _drop_privileges(*request["user"])
        process_tree.die_with_parent()  # after the change of the user, which clears it
        if request["no_new_privileges"]:
            process_tree.LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        step = "directory"
        os.chdir(request["directory"])
        step = "program"
        if request["has_status"]:
            os.set_inheritable(status, True)  # noqa: FBT003 - it takes no keywords
            os.set_inheritable(gate, request["gated"])
        replaced = {"{status}": str(status), "{gate}": str(gate)}
        argv = [replaced.get(word, word) for word in request["argv"]]
        os.execve(argv[0], argv, request["environment"])
    except (OSError, ValueError, MemoryError) as error:
        os.write(failure, f"{step}: {error}".encode(errors="replace")[:4000])
    finally:
        os._exit(127)


def _stage(mounts: list[list[Any]]) -> None:
    """Make a private mount namespace, and mount each source as /tmp/<number>."""
    _check(process_tree.LIBC.unshare(_CLONE_NEWNS), "unshare")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    sources = [_open_without_links(source) for source, _ in mounts]
    _mount("tmpfs", _STAGE, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=64k")
    for number, (descriptor, (_, writable)) in enumerate(zip(sources, mounts, strict=True)):
        place = f"{_STAGE}/{number}"
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112 - see above
            os.mkdir(place)  # noqa: PTH102 - see above
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
        _mount(f"/proc/self/fd/{descriptor}", place, None, _MS_BIND)
        flags = _MS_NOSUID | _MS_NODEV | (0 if writable else _MS_RDONLY)
        _mount(None, place, None, _MS_REMOUNT | _MS_BIND | flags)
        os.close(descriptor)


def _open_without_links(path: str) -> int:
    """Open the path itself: it was canonical when it was checked, and a link in it now is an attack."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    is_link = os.fstat(descriptor).st_mode & _S_IFMT == _S_IFLNK
    if is_link or os.readlink(f"/proc/self/fd/{descriptor}") != path:
        raise OSError(40, "the path has a symbolic link", path)
    return descriptor


def _mount(source: str | None, place: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, place, kind)]
    done = process_tree.LIBC.mount(*words, ctypes.c_ulong(flags), None if options is None else options.encode())
    _check(done, f"mount {place}")


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def _drop_privileges(user: int, group: int) -> None:
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def _start_command(argv: list[str], environment: dict[str, str]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(127)
    return pid


def _run_command(argv: list[str], environment: dict[str, str]) -> None:
    """Run a command of the runtime, such as the removal of a container, and wait for its end within a limit."""
    pid = _start_command(argv, environment)
    waiter = select.poll()
    waiter.register(os.pidfd_open(pid), select.POLLIN)
    if not waiter.poll(_COMMAND_SECONDS * 1000):
        os.kill(pid, process_tree.SIGKILL)
    os.waitpid(pid, 0)


def _read_available(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return b""


if __name__ == "__main__":
    main()
