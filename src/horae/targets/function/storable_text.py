"""Texts from foreign code, made fit to be kept: what no store can take is replaced, what is too long is cut."""

from __future__ import annotations

from ...model.limits import shortened


def kept(text: str, most: int) -> str:
    """Halves of surrogate pairs and NUL, which come from file names and binary output, are shown as replaced."""
    text = shortened(text, most)
    if not text.isascii():
        text = text.encode(errors="replace").decode()
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
