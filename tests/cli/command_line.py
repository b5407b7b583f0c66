"""Test driver of the `horae` command: runs `main` in this process, in a fork, or in a fresh interpreter."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from horae.cli.main import main
from tests.cli import fork_server

_OWN_VARIABLES = ("HORAE_", "LC_", "LANG", "TZ", "TIMEZONE", "NO_COLOR")


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Parse standard output as one JSON document per line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def problem(self) -> Any:
        """Parse the last line of standard error; notes may come before it."""
        return json.loads(self.err.splitlines()[-1])


def clean_environment(**more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    return {**inherited, "PYTHONUTF8": "1", "LANG": "C.UTF-8", "HORAE_ZONE": "UTC", "HORAE_API": "off", **more}


@contextmanager
def patched_process(directory: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> Iterator[None]:
    """Set working directory, environment and `sys.argv` as in a fresh process; restore them on exit."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        with patch.dict(os.environ, environment, clear=True), patch.object(sys, "argv", ["horae", *arguments]):
            yield
    finally:
        os.chdir(before)


def exit_code() -> int:
    """Run the command in `sys.argv`; return its exit code."""
    try:
        main()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 1
    return 0


def has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Cli:
    """Run commands in a private folder with a private store: `cli("ls", "--json")`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "horae.db"
        self.url = f"sqlite:///{self.path}"

    def environment(self, **more: str) -> dict[str, str]:
        home = str(self.directory)
        own = {"HORAE_STORE": self.url, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        return clean_environment(**(own | more))

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> CommandResult:
        out, err = io.StringIO(), io.StringIO()
        with (
            patched_process(self.directory, arguments, self.environment(**environment)),
            patch.multiple(sys, stdin=io.StringIO(stdin), stdout=out, stderr=err),
        ):
            if has_running_loop():
                # A command starts its own event loop, and a thread can run only one.
                with ThreadPoolExecutor(max_workers=1) as thread:
                    code = thread.submit(exit_code).result()
            else:
                code = exit_code()
        return CommandResult(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: str, **environment: str) -> CommandResult:
        """Run the command in a fork of a process that has imported it."""
        done = fork_server.run(arguments, cwd=self.directory, env=self.environment(**environment), timeout=60)
        return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())

    def interpreter(self, *arguments: str, **environment: str) -> CommandResult:
        """Run the command in a fresh interpreter, which imports only what the command needs."""
        done = subprocess.run(
            [sys.executable, "-m", "horae", *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            cwd=self.directory,
            env=self.environment(**environment),
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)
