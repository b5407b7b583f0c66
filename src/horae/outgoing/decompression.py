"""Streaming decompression of a response body with a size limit, which bounds the cost of a decompression bomb."""

from __future__ import annotations

import zlib
from typing import Final

ENCODINGS: Final = "gzip, deflate"
_GZIP: Final = zlib.MAX_WBITS | 16
_SLACK: Final = 64 * 1024
"""How much longer than the limit a compressed body may be: more would be endless padding."""


class MalformedResponseError(Exception):
    """The body is not in the encoding that its header names."""


class Decompressor:
    """Call `feed` with each chunk until it returns False or the body ends, then `finish`."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._body = bytearray()
        self._limit = limit
        self._received = 0
        self._encoding = encoding.strip().lower()
        self._decompressor: zlib._Decompress | None = None
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise MalformedResponseError(f"the answer is encoded as {self._encoding[:40]!r}")

    @property
    def body(self) -> bytes:
        return bytes(self._body[: self._limit])

    @property
    def truncated(self) -> bool:
        return len(self._body) > self._limit or self._received > self._limit + _SLACK

    def feed(self, data: bytes) -> bool:
        """Decompress a chunk; return False when the limit is reached and no more is needed."""
        self._received += len(data)
        if self._encoding in {"", "identity"}:
            self._body += data[: self._bytes_left]
        else:
            self._decompress(data)
        return not self.truncated

    def finish(self) -> None:
        """Raise `MalformedResponseError` if the compressed stream is incomplete."""
        if self._decompressor is not None and not self._decompressor.eof:
            raise MalformedResponseError("the compressed answer ends in the middle")

    @property
    def _bytes_left(self) -> int:
        """Bytes left up to the limit, plus one to detect truncation."""
        return self._limit + 1 - len(self._body)

    def _decompress(self, data: bytes) -> None:
        try:
            while data and self._bytes_left > 0:
                if self._decompressor is None or self._decompressor.eof:
                    self._decompressor = self._make_decompressor(data)
                self._body += self._decompressor.decompress(data, self._bytes_left)
                data = self._decompressor.unused_data or self._decompressor.unconsumed_tail
        except zlib.error:
            raise MalformedResponseError("the compressed answer cannot be read") from None

    def _make_decompressor(self, data: bytes) -> zlib._Decompress:
        if self._encoding != "deflate":
            return zlib.decompressobj(_GZIP)
        # Many servers send raw deflate without the zlib header, whose first byte is always 0x?8.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
