"""One refusal in two languages. Facts in braces are filled in when it is raised."""

from __future__ import annotations

from typing import TypeAlias

# English message, English hint, Chinese message, Chinese hint
Entry: TypeAlias = tuple[str, str, str, str]
