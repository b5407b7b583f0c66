"""Program name for printed commands: `horae`, or the path or `python -m horae` by which the user called it."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from shlex import quote
from shutil import which
from typing import Final

NAME: Final = "horae"


def called_program() -> str:
    """Return `horae` if the shell finds this program under that name, else the program as it was called."""
    return program_for(sys.argv[0], sys.orig_argv[0] if sys.orig_argv else sys.executable, os.environ.get("PATH"))


@cache
def program_for(script: str, interpreter: str, path: str | None) -> str:
    """Return the program for this `sys.argv[0]` (`script`): the path of the installed command, or of `__main__.py` with
    `python -m horae`. For any other program, such as one that uses the library, it is `horae`."""
    file = Path(script)
    is_module = file.name == "__main__.py" and file.parent.name == NAME
    if not is_module and (file.stem != NAME or file.name == script):
        return NAME
    found = which(NAME, path=path)
    if found is not None and _is_same(found, sys.executable if is_module else script, beside=is_module):
        return NAME
    return f"{quote(interpreter)} -m {NAME}" if is_module else quote(script)


def _is_same(found: str, ours: str, *, beside: bool) -> bool:
    """Whether `found` is the same file as `ours`, or with `beside` in the same folder. A venv links to a shared interpreter,
    so a link in the last part of the path is not followed there."""
    if beside:
        return Path(found).parent.resolve() == Path(ours).parent.resolve()
    return Path(found).resolve() == Path(ours).resolve()
