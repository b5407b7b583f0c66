"""Files in the input directory of a live agent: further messages, and the request to close."""

from __future__ import annotations

from typing import Final, NamedTuple

from .documents import MAX_INPUT_BYTES, read_object, write_object
from .errors import ProtocolError

CLOSE_FILE: Final = "_close"
"""Empty file: the agent ends when its current turn has ended."""


class InputMessage(NamedTuple):
    text: str


def read_input_file(data: bytes) -> InputMessage:
    fields = read_object(data, MAX_INPUT_BYTES)
    kind = fields.text("type")
    if kind != "message":
        raise ProtocolError("unknown_type", f"an input file of type {kind[:40]!r} is unknown", "/type")
    message = InputMessage(fields.text("text"))
    fields.finish()
    return message


def write_input_file(message: InputMessage) -> bytes:
    return write_object({"type": "message", "text": message.text})
