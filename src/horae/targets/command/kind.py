"""Registers the target kind `command`: checks specs and opens the target."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from ...ports.target import TargetKind, Tools
from .programs import Programs
from .refusals import refuse
from .settings import read_settings
from .spec import check_spec
from .target import CommandTarget


class CommandKind:
    kind: Final = "command"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - a program takes any payload
        settings: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        _check_platform()
        command_settings = read_settings(settings)
        return check_spec(spec, command_settings, Programs(command_settings))

    def open(self, tools: Tools) -> CommandTarget:
        _check_platform()
        return CommandTarget(read_settings(tools.settings), tools.secrets)


def _check_platform() -> None:
    if os.name != "posix":
        raise refuse("command_platform")


COMMAND: Final[TargetKind] = CommandKind()
