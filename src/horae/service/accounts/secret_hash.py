"""Hashes of the secrets in tokens, sessions and links: only the hash is stored, and a comparison takes constant time."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest
from typing import Final

_NO_HASH: Final = "0" * 64


def hash_secret(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def is_secret(secret: str, stored_hash: str | None) -> bool:
    """Return whether the secret has this hash; where none is stored, the comparison takes as long as with a wrong secret."""
    return compare_digest(hash_secret(secret), _NO_HASH if stored_hash is None else stored_hash)
