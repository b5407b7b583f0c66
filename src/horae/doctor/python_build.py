"""Detects how the interpreter was compiled: without profile-guided optimisation it takes 7 to 25 % more processor time."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

Optimisation: TypeAlias = Literal["optimised", "plain", "unknown"]

_PROFILE_FLAGS: Final = ("-fprofile-use", "-fprofile-instr-use", "-fauto-profile")
_FLAG_VARIABLES: Final = ("CFLAGS", "PY_CFLAGS", "PY_CORE_CFLAGS", "PY_CFLAGS_NODIST", "CONFIGURE_CFLAGS_NODIST")
_LEVEL: Final = re.compile(r"(?<!\S)-O(\w*)(?!\S)")
_LOW_LEVELS: Final = ("0", "g", "1")


def python_optimisation() -> Optimisation:
    return read_optimisation(sysconfig.get_config_vars(), is_debug=hasattr(sys, "gettotalrefcount"))


def read_optimisation(variables: Mapping[str, Any], *, is_debug: bool) -> Optimisation:
    """Read the build from the variables of `sysconfig`.

    `make` applies the profile flags on its command line, so that they appear in no variable: the sign is the option of
    `configure`. Distributions remove both from the variables of an optimised build, and the usual value of
    PGO_PROF_USE_FLAG with them; without that value nothing is known.
    """
    flags = " ".join(str(variables.get(name) or "") for name in _FLAG_VARIABLES)
    arguments = variables.get("CONFIG_ARGS")
    if "--enable-optimizations" in str(arguments) or any(flag in flags for flag in _PROFILE_FLAGS):
        return "optimised"
    if is_debug or _last_level(str(variables.get("PY_CORE_CFLAGS") or flags)) in _LOW_LEVELS:
        return "plain"
    if arguments is None or not variables.get("PGO_PROF_USE_FLAG"):
        return "unknown"
    return "plain"


def _last_level(flags: str) -> str | None:
    """Return the level that counts: that of the last -O."""
    levels = _LEVEL.findall(flags)
    return levels[-1] if levels else None
