"""One contender: each operation runs in a fresh process with its own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from bench.engine.child import Child

HOME: Final = Path(__file__).resolve().parents[2]
Operation = Literal["enqueue", "drain", "punctual", "crowd", "fetches", "rest"]


@dataclass(frozen=True, slots=True)
class Contender:
    """`command` is followed by the operation and its arguments as JSON; the answer is JSON on stdout."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False
    version: str = ""
    hurried: bool = False
    """Whether it looks more often than it usually does when its lateness is measured."""

    def start(self, operation: Operation, **arguments: Any) -> Child:
        command = [*self.command, operation, json.dumps(arguments)]
        environment = {**os.environ, **self.environment}
        return Child(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HOME, env=environment))

    def run(self, operation: Operation, **arguments: Any) -> Any:
        with self.start(operation, **arguments) as child:
            return child.result()
