"""Headers of an HTTP target whose text looks like the command line's spelling of a secret."""

from __future__ import annotations

import json
from typing import Final

from ...model.task import Target
from .advisories import Advisory, build_advisory

_SPELLED: Final = "@secret:"


def literal_secrets(target: Target) -> tuple[Advisory, ...]:
    """`@secret:NAME` is read by `--header` alone; in JSON it is plain text."""
    if target.kind != "http" or _SPELLED not in target.spec:
        return ()
    try:
        headers = json.loads(target.spec).get("headers")
    except (ValueError, AttributeError, RecursionError):
        return ()
    if not isinstance(headers, dict):
        return ()
    return tuple(
        build_advisory("literal_secret", header=header, name=value.partition(_SPELLED)[2].split()[0])
        for header, value in headers.items()
        if isinstance(value, str) and value.partition(_SPELLED)[2].split()
    )
