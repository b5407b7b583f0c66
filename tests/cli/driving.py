"""The command line as tests use it: the real `main`, in this process where that is the same, or in one of its own."""

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

_OURS = ("HORAE_", "LC_", "LANG", "TZ", "TIMEZONE", "NO_COLOR")


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Of a stream: each line a document."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def problem(self) -> Any:
        """The last line of standard error: before it there may be notes."""
        return json.loads(self.err.splitlines()[-1])


def clean_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PYTHONUTF8": "1", "LANG": "C.UTF-8", "HORAE_ZONE": "UTC", "HORAE_API": "off", **more}


@contextmanager
def surroundings(directory: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> Iterator[None]:
    """As a fresh process would find them."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        with patch.dict(os.environ, environment, clear=True), patch.object(sys, "argv", ["horae", *arguments]):
            yield
    finally:
        os.chdir(before)


def exit_code() -> int:
    """Run the command that `sys.argv` says."""
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
    """`cli("ls", "--json")` in a private folder with a private store."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "horae.db"
        self.url = f"sqlite:///{self.path}"

    def environment(self, **more: str) -> dict[str, str]:
        home = str(self.directory)
        ours = {"HORAE_STORE": self.url, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        return clean_environment(**(ours | more))

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with (
            surroundings(self.directory, arguments, self.environment(**environment)),
            patch.multiple(sys, stdin=io.StringIO(stdin), stdout=out, stderr=err),
        ):
            if has_running_loop():
                # A command has an event loop of its own, and a thread has room for one.
                with ThreadPoolExecutor(max_workers=1) as thread:
                    code = thread.submit(exit_code).result()
            else:
                code = exit_code()
        return Done(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: str, **environment: str) -> Done:
        """The same in a process of its own, whose imports are done already."""
        done = fork_server.run(arguments, cwd=self.directory, env=self.environment(**environment), timeout=60)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def interpreter(self, *arguments: str, **environment: str) -> Done:
        """The same in a fresh interpreter, which imports only what the command needs."""
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
        return Done(done.returncode, done.stdout, done.stderr)
