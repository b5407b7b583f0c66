"""Type of a catalogue entry: message and hint in two languages; facts in braces are filled in by `refuse`."""

from __future__ import annotations

from typing import TypeAlias

# English message, English hint, Chinese message, Chinese hint
Entry: TypeAlias = tuple[str, str, str, str]
