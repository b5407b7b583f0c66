"""Choice of the server that takes writes among the hosts of a store URL, beginning with the one chosen last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

_T = TypeVar("_T")

HOST_CONNECT_SECONDS: Final = 2.0
"""Longest wait for one of several hosts: a machine that is gone refuses nothing, and the next host is waiting."""
STALLED_SECONDS: Final = 2.0
"""Time after which the server of a statement without an answer is asked on a new connection whether it still serves."""


class NotWritableError(ConnectionError):
    """A server accepts connections but takes no writes: it is a standby, or read-only, or not part of its cluster."""


class NoServerError(ConnectionError):
    """None of the hosts can be used. `problems` has the reason of each."""

    def __init__(
        self, problems: Sequence[tuple[str, str]], *, are_read_only: bool, errors: Sequence[Exception] = ()
    ) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems))
        self._errors = errors
        self.are_read_only = are_read_only
        """Whether every server answers, and none takes writes."""

    def has(self, kind: type[Exception]) -> bool:
        """Whether one of the hosts was left with an error of this kind."""
        return any(isinstance(error, kind) for error in self._errors)


class ServerChoice:
    """`open_server` connects to the host with an index; it raises NotWritableError for a server that takes no writes."""

    def __init__(
        self, names: Sequence[str], is_passing: Callable[[Exception], bool], describe: Callable[[Exception], str]
    ) -> None:
        self._names = names
        self._is_passing = is_passing
        self._describe = describe
        self._last = 0

    async def connect(self, open_server: Callable[[int], Awaitable[_T]]) -> _T:
        """Connect to the first host that works. If none does, raise the error of a wrong setting, else NoServerError."""
        problems: list[tuple[str, str]] = []
        errors: list[Exception] = []
        setting_errors: list[Exception] = []
        read_only = 0
        for step in range(len(self._names)):
            index = (self._last + step) % len(self._names)
            try:
                connection = await open_server(index)
            except Exception as error:
                if len(self._names) == 1 and not isinstance(error, NotWritableError):
                    raise
                read_only += isinstance(error, NotWritableError)
                if not self._is_passing(error):
                    setting_errors.append(error)
                errors.append(error)
                problems.append((self._names[index], self._describe(error)))
            else:
                self._last = index
                return connection
        if setting_errors:
            raise setting_errors[0]
        raise NoServerError(problems, are_read_only=read_only == len(self._names), errors=errors)
