"""Sanitises program output for the log: strips terminal escape sequences and control characters, masks secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..secret_references import Masks

_MIN_LENGTH: Final = 4
"""As in `Masks`: shorter fragments reveal nothing."""

_ESCAPE_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours and cursor movement
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles and links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL_CHARACTERS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tabs, and Unicode direction overrides."""

_SPLIT_CHARACTER: Final = re.compile(r"\A\ufffd{1,3}")
"""Replacement characters left by a multi-byte character that was cut in two."""


def strip_control_characters(line: str) -> str:
    """Return one line as a terminal would show it at last: text overwritten after a carriage return is dropped."""
    line = _ESCAPE_SEQUENCES.sub("", line).rstrip("\r").rpartition("\r")[2]
    return _CONTROL_CHARACTERS.sub("", line)


class OutputMask:
    """Masks the secrets of one run in its output, also multi-line ones and those quoted as JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _MIN_LENGTH}
        self._masks = Masks(self._forms)
        self.max_length = max((len(form.encode(errors="replace")) for form in self._forms), default=0)

    def line(self, raw: bytes, *, torn: bool = False, cut: bool = False) -> str:
        """Return the line as masked plain text.

        `torn` means that the start of the line is missing, `cut` that its end is: either cut may be inside a secret, so
        the fragment of one is removed.
        """
        text = strip_control_characters(raw.decode(errors="replace"))
        if torn:
            text = self._strip_secret_suffix(text)
        text = self._masks.mask(text)
        return self._strip_secret_prefix(text) if cut else text

    def lines(self, raw: bytes, *, torn: bool = False) -> str:
        first, *rest = raw.split(b"\n")
        return "\n".join((self.line(first, torn=torn), *(self.line(line) for line in rest)))

    def _strip_secret_suffix(self, text: str) -> str:
        text = _SPLIT_CHARACTER.sub("", text)
        return text[max((_overlap(form, text) for form in self._forms), default=0) :]

    def _strip_secret_prefix(self, text: str) -> str:
        text = text.removesuffix("\N{REPLACEMENT CHARACTER}")
        return text[: len(text) - max((_overlap(text, form) for form in self._forms), default=0)]


def _overlap(left: str, right: str) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right`."""
    most = min(len(left), len(right))
    return next((size for size in range(most, 0, -1) if left.endswith(right[:size])), 0)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    for line in (strip_control_characters(each) for each in secret.split("\n")):
        yield line
        yield json.dumps(line)[1:-1]
        yield json.dumps(line, ensure_ascii=False)[1:-1]
    yield json.dumps(secret)[1:-1]
