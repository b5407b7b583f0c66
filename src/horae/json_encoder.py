"""Encoders of short JSON texts that make the C encoder once: `JSONEncoder.encode` makes it for every call, which takes longer
than the encoding of a short value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

COMPACT: Final = (",", ":")
SPACED: Final = (", ", ": ")
"""Separators of `json.dumps`."""


def make_encoder(
    separators: tuple[str, str], *, ensure_ascii: bool = False, sort_keys: bool = False, allow_nan: bool = True
) -> Callable[[Any], str]:
    """Return a function with the results of `JSONEncoder.encode`; a value that contains itself raises RecursionError."""
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, separators=separators, sort_keys=sort_keys, allow_nan=allow_nan
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    item_separator, key_separator = separators
    encode_text = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    skip_keys = False
    flags = (sort_keys, skip_keys, allow_nan)
    chunks = make(None, encoder.default, encode_text, None, key_separator, item_separator, *flags)

    def encode(value: Any) -> str:
        return "".join(chunks(value, 0))

    return encode
