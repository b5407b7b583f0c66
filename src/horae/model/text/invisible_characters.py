"""Detection and escaping of invisible characters: Unicode's Default_Ignorable_Code_Point and unprintable ones.

`DEFAULT_IGNORABLE` is written by `python -m docs.unicode_tables` from Unicode data. Do not edit it by hand.
"""

from __future__ import annotations

import re
from typing import Final

# --- begin of the generated table: Unicode 14.0.0 ---
DEFAULT_IGNORABLE: Final = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# --- end of the generated table ---

_IGNORABLE: Final = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in DEFAULT_IGNORABLE) + "]")


def first_ignorable(text: str) -> str | None:
    """Return the first default-ignorable character of a text; None if it has none."""
    match = None if text.isascii() else _IGNORABLE.search(text)
    return None if match is None else match.group()


def without_ignorable(text: str) -> str:
    """Remove default-ignorable characters, for a name that Horae derives from a longer text."""
    return text if text.isascii() else _IGNORABLE.sub("", text)


def is_hidden(character: str) -> bool:
    """Return whether a terminal shows nothing for this character, or interprets it as a control."""
    return not character.isprintable() or _IGNORABLE.match(character) is not None


def code_point(character: str) -> str:
    """Return the code point of a character as `U+200B`."""
    return f"U+{ord(character):04X}"


def escape_hidden(text: str) -> str:
    """Return the text with each hidden character as a JSON escape (`\\u202e`; above U+FFFF a surrogate pair)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(each) if is_hidden(each) else each for each in text)


def _escape(character: str) -> str:
    number = ord(character)
    if number <= 0xFFFF:
        return f"\\u{number:04x}"
    high, low = divmod(number - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
