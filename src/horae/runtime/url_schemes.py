"""URL schemes of stores on database servers."""

from __future__ import annotations

from typing import Final

POSTGRES: Final = ("postgresql:", "postgres:")
MYSQL: Final = ("mysql:", "mariadb:")


def is_on_server(url: str) -> bool:
    """Whether the store is on a database server, which other machines may share."""
    return url.startswith((*POSTGRES, *MYSQL))
