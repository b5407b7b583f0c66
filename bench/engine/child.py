"""Runs a function in a fresh interpreter, with cold memory and caches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self

_HOME: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Child:
    """An interpreter at work. Ask for the result once; leaving the block ends it in any case."""

    process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def result(self) -> Any:
        """What the function returned. What the child says besides goes to stderr as it comes."""
        answer, _ = self.process.communicate()
        if self.process.returncode:
            raise subprocess.CalledProcessError(self.process.returncode, self.process.args)
        return json.loads(answer)


def start(function: Callable[..., Any], **arguments: Any) -> Child:
    """Go on here while it works there. Arguments and result travel as JSON."""
    command = [sys.executable, "-m", "bench.engine.child", function.__module__, function.__name__]
    return Child(
        subprocess.Popen([*command, json.dumps(arguments)], stdout=subprocess.PIPE, text=True, cwd=_HOME),
    )


def run(function: Callable[..., Any], **arguments: Any) -> Any:
    with start(function, **arguments) as child:
        return child.result()


def main(module: str, name: str, arguments: str) -> None:
    import importlib  # noqa: PLC0415 - only the child needs it

    answers: IO[str] = sys.stdout
    sys.stdout = sys.stderr
    json.dump(getattr(importlib.import_module(module), name)(**json.loads(arguments)), answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
