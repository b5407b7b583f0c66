"""How the addresses of stores begin."""

from __future__ import annotations

from typing import Final

POSTGRES: Final = ("postgresql:", "postgres:")
MYSQL: Final = ("mysql:", "mariadb:")


def is_on_server(url: str) -> bool:
    """Whether other machines may be on the same store."""
    return url.startswith((*POSTGRES, *MYSQL))
