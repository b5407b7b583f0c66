"""One key and what it seals: AES-256-GCM, a fresh nonce for each value, and the place of the value bound into it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, final

from .refusals import refuse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
_VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16


class Sealing(Protocol):
    """`about` says whose value it is and under which name: what was sealed for one place opens at no other."""

    @property
    def origin(self) -> str:
        """Where the key is, for people."""

    def seal(self, value: bytes, about: bytes) -> bytes:
        """Never the same bytes twice."""

    def open(self, sealed: bytes, about: bytes) -> bytes | None:
        """The value; None when another key sealed it, for another place, or anything of it was changed."""

    def will_open(self, sealed: bytes, about: bytes) -> bool:
        """Whether the key that seals from now on opens it, too: not one that is about to go, or gone already."""


@final
class Key:
    """A key in memory. It shows itself to nobody: not when printed, logged or copied."""

    def __init__(self, secret: bytes, origin: str = "memory") -> None:
        if len(secret) != KEY_BYTES:
            raise refuse("key_length", origin=origin, size=len(secret), wanted=KEY_BYTES)
        self.__secret = bytes(secret)
        self._origin = origin

    @classmethod
    def random(cls, origin: str = "memory") -> Key:
        return cls(os.urandom(KEY_BYTES), origin)

    @property
    def origin(self) -> str:
        return self._origin

    def seal(self, value: bytes, about: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aead.encrypt(nonce, value, _VERSION + about)

    def open(self, sealed: bytes, about: bytes) -> bytes | None:
        if sealed[:1] != _VERSION or len(sealed) < 1 + _NONCE_BYTES + _TAG_BYTES:
            return None
        aead = self._aead
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - the library is an extra

        nonce, hidden = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return aead.decrypt(nonce, hidden, _VERSION + about)
        except InvalidTag:
            return None

    def will_open(self, sealed: bytes, about: bytes) -> bool:
        return self.open(sealed, about) is not None

    @cached_property
    def _aead(self) -> AESGCM:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - the library is an extra
        except ImportError:
            raise refuse("secrets_library_missing") from None
        return AESGCM(self.__secret)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.__secret == other.__secret

    def __hash__(self) -> int:
        return hash(self.__secret)

    def __repr__(self) -> str:
        return f"<Key from {self._origin}>"

    def __reduce__(self) -> str:
        raise TypeError("a key is not copied to other processes: each reads its own file")
