"""The kind `command`, as a deployment knows it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from ...ports.target import TargetKind, Tools
from .programs import Programs
from .refusals import refuse
from .settings import read_settings
from .spec import checked_spec
from .target import CommandTarget


class CommandKind:
    kind: Final = "command"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - any payload can be given to a program
        settings: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        _check_system()
        read = read_settings(settings)
        return checked_spec(spec, read, Programs(read))

    def open(self, tools: Tools) -> CommandTarget:
        _check_system()
        return CommandTarget(read_settings(tools.settings), tools.secrets)


def _check_system() -> None:
    if os.name != "posix":
        raise refuse("command_platform")


COMMAND: Final[TargetKind] = CommandKind()
