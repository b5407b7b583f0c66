"""Makes text of foreign code storable: cuts it to a length, replaces lone surrogates and NUL."""

from __future__ import annotations

from ...model.limits import shorten


def to_storable(text: str, max_length: int) -> str:
    """Cut the text and replace lone surrogates and NUL, which come from file names and binary output."""
    text = shorten(text, max_length)
    if not text.isascii():
        text = text.encode(errors="replace").decode()
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
