"""The program as the user called it: the first words of every command that is printed to be typed next."""

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
    """`horae` where the shell finds this program under that name, else the program as it was called."""
    return program_for(sys.argv[0], sys.orig_argv[0] if sys.orig_argv else sys.executable, os.environ.get("PATH"))


@cache
def program_for(script: str, interpreter: str, path: str | None) -> str:
    """`script` is `sys.argv[0]`: the path of the installed command, or of `__main__.py` with `python -m horae`. A program that
    is neither, such as one that uses the library, is never what a command begins with."""
    file = Path(script)
    is_module = file.name == "__main__.py" and file.parent.name == NAME
    if not is_module and (file.stem != NAME or file.name == script):
        return NAME
    found = which(NAME, path=path)
    if found is not None and _is_same(found, sys.executable if is_module else script, beside=is_module):
        return NAME
    return f"{quote(interpreter)} -m {NAME}" if is_module else quote(script)


def _is_same(found: str, ours: str, *, beside: bool) -> bool:
    """Whether `found` is the same file as `ours`, or stands in the same folder. A venv links its interpreter to one that
    others share, so links of the last part are not followed there."""
    if beside:
        return Path(found).parent.resolve() == Path(ours).parent.resolve()
    return Path(found).resolve() == Path(ours).resolve()
