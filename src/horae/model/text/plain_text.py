"""Plain text from stored text and output of programs: terminal sequences, control characters and direction overrides
removed."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours and cursor movement
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles and links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL_CHARACTERS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tabs, and Unicode direction overrides."""
_LINE_BREAKS: Final = re.compile("\r\n|[\n\v\f\x85\u2028\u2029]")


def strip_control_characters(line: str) -> str:
    """Return one line as a terminal would show it at last: text overwritten after a carriage return is dropped."""
    line = _ESCAPE_SEQUENCES.sub("", line).rstrip("\r").rpartition("\r")[2]
    return _CONTROL_CHARACTERS.sub("", line)


def plain_text(text: str) -> str:
    """Return a text of several lines, each as a terminal would show it; lone surrogates, which no page can send, become `?`."""
    shown = "\n".join(strip_control_characters(line) for line in _LINE_BREAKS.split(text))
    return shown.encode(errors="replace").decode()


def plain_line(text: str) -> str:
    """Return a text as one line: line breaks in it become visible marks."""
    if text.isascii() and text.isprintable():
        return text
    return plain_text(text).rstrip("\n").replace("\n", " ⏎ ")


def cut(text: str, characters: int, lines: int) -> str:
    """Return the text, or its first lines and an ellipsis where it is longer than either limit."""
    head = "\n".join(text[:characters].split("\n")[:lines])
    return text if head == text else f"{head.rstrip()} …"


def first_line(text: str) -> str:
    """Return the first line of a text that shows something; empty if there is none."""
    begin = 0
    for line_break in _LINE_BREAKS.finditer(text):
        line = strip_control_characters(text[begin : line_break.start()]).strip()
        if line:
            return line
        begin = line_break.end()
    return strip_control_characters(text[begin:]).strip()
