"""Error of a document that does not fit the protocol, with a JSON pointer to the part at fault."""

from __future__ import annotations


class ProtocolError(ValueError):
    """`code` is stable, `pointer` is a JSON pointer, empty for the whole document."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(f"{message} (at {pointer})" if pointer else message)
        self.code = code
        self.pointer = pointer
