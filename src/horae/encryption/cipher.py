"""Authenticated encryption with AES-256-GCM: a fresh nonce per value, and owner and name as associated data."""

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


class Cipher(Protocol):
    """`associated_data` names owner and name of the value: a value sealed for one place cannot be opened at another."""

    @property
    def origin(self) -> str:
        """Where the key comes from, for messages."""

    def seal(self, value: bytes, associated_data: bytes) -> bytes:
        """Encrypt; returns other bytes at each call."""

    def open(self, sealed: bytes, associated_data: bytes) -> bytes | None:
        """Decrypt; None if the key or the associated data differ, or if the bytes were changed."""

    def opens_with_current_key(self, sealed: bytes, associated_data: bytes) -> bool:
        """Whether the key that `seal` uses now opens it; False for a key that a rotation replaces or has replaced."""


@final
class Key:
    """A key in memory. It is never exposed by printing, logging or pickling."""

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

    def seal(self, value: bytes, associated_data: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aead.encrypt(nonce, value, _VERSION + associated_data)

    def open(self, sealed: bytes, associated_data: bytes) -> bytes | None:
        if sealed[:1] != _VERSION or len(sealed) < 1 + _NONCE_BYTES + _TAG_BYTES:
            return None
        aead = self._aead
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - the library is an extra

        nonce, ciphertext = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return aead.decrypt(nonce, ciphertext, _VERSION + associated_data)
        except InvalidTag:
            return None

    def opens_with_current_key(self, sealed: bytes, associated_data: bytes) -> bool:
        return self.open(sealed, associated_data) is not None

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
