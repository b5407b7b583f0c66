"""Allow-list of programs: checked when a task is created and again when it runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import Final

from ...model.reason import Reason
from .refusals import refuse
from .settings import ANY_PROGRAM, CommandSettings

MISSING_TEXT: Final = "there is no program {name!r} on this node"
NOT_ALLOWED_TEXT: Final = (
    "the program {name!r} is not among those that this node allows, as they were when it started; where the node runs, "
    "add it to allow under [targets.command] in horae.toml or to HORAE_COMMAND_ALLOW, then restart the node"
)
LINK_CHANGED_TEXT: Final = "the program {name!r} is a link that now leads elsewhere; restart the node if that was meant"


class UnusableProgram(Exception):  # noqa: N818 - it says what is wrong with a program
    """A program that was allowed when the task was created cannot be started on this node now."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


class Programs:
    """Resolves the allowed programs, and the targets of symbolic links among them, once at start.

    Paths are compared as written, not by link target: where one binary has many names (busybox), each name is a program
    of its own.
    """

    def __init__(self, settings: CommandSettings) -> None:
        self._path = settings.path
        self._allowed = frozenset(settings.allow)
        located = (self._locate(name) for name in settings.allow if name != ANY_PROGRAM)
        self._real_paths = {path: os.path.realpath(path) for path in located if path is not None}

    def check(self, name: str) -> None:
        """Raise a refusal unless the program is allowed. Whether it is installed shows only when it runs."""
        if not self._allowed:
            raise refuse("command_none_allowed", program=name, toml=json.dumps([name]), variable=shlex.quote(name))
        if not self._allowed & {ANY_PROGRAM, name} and self._locate(name) not in self._real_paths:
            raise refuse("command_not_allowed", program=name)

    def find(self, name: str) -> str:
        """Return the path to execute. Raises `UnusableProgram`."""
        path = self._locate(name)
        if path is None:
            raise UnusableProgram(MISSING_TEXT.format(name=name), Reason.TARGET_UNKNOWN)
        if ANY_PROGRAM in self._allowed:
            return path
        if path not in self._real_paths:
            raise UnusableProgram(NOT_ALLOWED_TEXT.format(name=name), Reason.TARGET_NOT_ALLOWED)
        if os.path.realpath(path) != self._real_paths[path]:
            raise UnusableProgram(LINK_CHANGED_TEXT.format(name=name), Reason.TARGET_NOT_ALLOWED)
        return path

    def _locate(self, name: str) -> str | None:
        return shutil.which(os.path.normpath(name) if "/" in name else name, path=self._path)
