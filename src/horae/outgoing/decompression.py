"""A body as it arrives, decompressed piece by piece and never beyond a bound: a bomb costs what the bound allows."""

from __future__ import annotations

import zlib
from typing import Final

ENCODINGS: Final = "gzip, deflate"
_GZIP: Final = zlib.MAX_WBITS | 16
_SLACK: Final = 64 * 1024
"""How much longer than its content a compressed body may be: more of it would be padding that never ends."""


class NonsenseError(Exception):
    """The body is not in the encoding that it claims."""


class Unpacking:
    """`feed` until it says that there is enough, then `finish`."""

    def __init__(self, encoding: str, most: int) -> None:
        self._body = bytearray()
        self._most = most
        self._arrived = 0
        self._encoding = encoding.strip().lower()
        self._reader: zlib._Decompress | None = None
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise NonsenseError(f"the answer is encoded as {self._encoding[:40]!r}")

    @property
    def body(self) -> bytes:
        return bytes(self._body[: self._most])

    @property
    def truncated(self) -> bool:
        return len(self._body) > self._most or self._arrived > self._most + _SLACK

    def feed(self, data: bytes) -> bool:
        """False when the bound is reached: what comes after that is of no interest."""
        self._arrived += len(data)
        if self._encoding in {"", "identity"}:
            self._body += data[: self._room]
        else:
            self._unpack(data)
        return not self.truncated

    def finish(self) -> None:
        """The sender says that this was all."""
        if self._reader is not None and not self._reader.eof:
            raise NonsenseError("the compressed answer ends in the middle")

    @property
    def _room(self) -> int:
        """One byte more than is kept tells that there was more."""
        return self._most + 1 - len(self._body)

    def _unpack(self, data: bytes) -> None:
        try:
            while data and self._room > 0:
                if self._reader is None or self._reader.eof:
                    self._reader = self._reader_for(data)
                self._body += self._reader.decompress(data, self._room)
                data = self._reader.unused_data or self._reader.unconsumed_tail
        except zlib.error:
            raise NonsenseError("the compressed answer cannot be read") from None

    def _reader_for(self, data: bytes) -> zlib._Decompress:
        if self._encoding != "deflate":
            return zlib.decompressobj(_GZIP)
        # Half of the world sends deflate without the frame that it should have, whose first byte is always 0x?8.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
