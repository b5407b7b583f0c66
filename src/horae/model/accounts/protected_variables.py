"""Environment variables that a task may not set for its command, unless the operator allows it."""

from __future__ import annotations

import re
from typing import Final

# A task that sets the loader, start-up file, search path or helper of an allowed program can run any program.
_RESERVED: Final = re.compile(
    r"HORAE_.*|PATH|HOME|XDG_.*"
    r"|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|PS4|ZDOTDIR"
    r"|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH"
    r"|PYTHON.*|PERL.*|RUBY(?:OPT|LIB)|NODE_(?:OPTIONS|PATH)|LUA_.*"
    r"|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|CLASSPATH"
    r"|.*PAGER|EDITOR|VISUAL|LESSOPEN|LESSCLOSE"
    r"|GIT_.*|RSYNC_RSH|MAKEFLAGS|TAR_OPTIONS|PSQLRC|OPENSSL_(?:CONF|ENGINES|MODULES)"
)
_OWN: Final = re.compile("HORAE_.*|PATH")


def is_reserved(name: str) -> bool:
    return _RESERVED.fullmatch(name) is not None


def is_set_by_horae(name: str) -> bool:
    """Return whether Horae itself sets the variable for every command; no setting lets a task override it."""
    return _OWN.fullmatch(name) is not None
