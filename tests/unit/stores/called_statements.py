"""Names of the statements that the code of a store runs, found in its text."""

from __future__ import annotations

import re


def find_called_statements(code: str) -> set[str]:
    """Return names that are passed to a call, and those of the pages of a transfer."""
    called = set(re.findall(r"(?:\.query|\.lookup|\.fetch|\.write_rows)\(\s*(?:\w+, )?\"(\w+)\"", code))
    return called | set(re.findall(r"Part\.\w+: \"(\w+)\"", code))
