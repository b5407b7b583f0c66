"""Names of environment variables that no task sets for its command unless the operator says so."""

from __future__ import annotations

import re
from typing import Final

# Who may choose a listed program's loader, start-up file, search path or helper may run any program.
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


def is_own(name: str) -> bool:
    """What Horae itself gives to every command: not even the operator lets a task say otherwise."""
    return _OWN.fullmatch(name) is not None
