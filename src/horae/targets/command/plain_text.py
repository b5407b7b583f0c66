"""What programs print, made fit to be kept: plain text without orders to a terminal, and without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..secret_references import Masks

_SHORTEST: Final = 4
"""As `Masks`: shorter beginnings tell nothing."""

_ORDERS: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursors
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles and links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # what only some terminals know
    r"|\x1b[ -/]*[0-~]?"
)
_UNSHOWN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for tabs, and those that would show the rest of a line in another order."""

_HALVES: Final = re.compile(r"\A\ufffd{1,3}")
"""What is left of a character that was cut in two."""


def plain(line: str) -> str:
    """One line as a terminal would show it in the end: what was written over with a carriage return is gone."""
    line = _ORDERS.sub("", line).rstrip("\r").rpartition("\r")[2]
    return _UNSHOWN.sub("", line)


class Veil:
    """Hides the secrets of one run, also where one has many lines, or is quoted as JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST}
        self._masks = Masks(self._forms)
        self.longest = max((len(form.encode(errors="replace")) for form in self._forms), default=0)

    def line(self, raw: bytes, *, torn: bool = False, cut: bool = False) -> str:
        """`torn` says that the beginning of the line is missing, `cut` that its end is: each may be inside a secret."""
        text = plain(raw.decode(errors="replace"))
        if torn:
            text = self._without_end_of_one(text)
        text = self._masks.hide(text)
        return self._without_beginning_of_one(text) if cut else text

    def lines(self, raw: bytes, *, torn: bool = False) -> str:
        first, *rest = raw.split(b"\n")
        return "\n".join((self.line(first, torn=torn), *(self.line(line) for line in rest)))

    def _without_end_of_one(self, text: str) -> str:
        text = _HALVES.sub("", text)
        return text[max((_overlap(form, text) for form in self._forms), default=0) :]

    def _without_beginning_of_one(self, text: str) -> str:
        text = text.removesuffix("\N{REPLACEMENT CHARACTER}")
        return text[: len(text) - max((_overlap(text, form) for form in self._forms), default=0)]


def _overlap(left: str, right: str) -> int:
    """How many characters at the end of the one are at the beginning of the other, too."""
    most = min(len(left), len(right))
    return next((size for size in range(most, 0, -1) if left.endswith(right[:size])), 0)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    for line in (plain(each) for each in secret.split("\n")):
        yield line
        yield json.dumps(line)[1:-1]
        yield json.dumps(line, ensure_ascii=False)[1:-1]
    yield json.dumps(secret)[1:-1]
