"""Parts of an agent's output that are not for the chat."""

from __future__ import annotations

import re
from typing import Final

_INTERNAL: Final = re.compile(r"<internal>.*?</internal>", re.DOTALL)


def remove_internal_text(text: str) -> str:
    """Return the text without `<internal>…</internal>`; an empty result is not sent. A tag without its end stays visible."""
    return _INTERNAL.sub("", text).strip()
