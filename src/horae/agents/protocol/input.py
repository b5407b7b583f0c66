"""Input of an agent: the prompt and settings of a turn on stdin, and the later files in its input directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .documents import MAX_INPUT_BYTES, ProtocolError, read_object, write_object

MODEL_SOCKET: Final = "/run/horae/model.sock"
"""Unix socket of the model."""
MODEL_SOCKET_VARIABLE: Final = "HORAE_MODEL_SOCKET"
"""Names the socket where it is elsewhere: a runtime without mounts translates the path in the variable."""


SCHEDULED_TASK_PREFIX: Final = (
    "[SCHEDULED TASK - The following message was sent automatically and is not coming directly from the user or "
    "group.]\n\n"
)
"""Precedes the prompt of a scheduled task, so that the model does not take it for a message of a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInput:
    """Field names on the wire are those of NanoClaw, in camel case. The repr leaves out the secrets."""

    prompt: str
    group_folder: str
    chat_jid: str
    is_main: bool
    session_id: str | None = None
    is_scheduled_task: bool = False
    assistant_name: str | None = None
    script: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def full_prompt(self) -> str:
        """The prompt as the mind receives it, with the prefix of a scheduled task."""
        return SCHEDULED_TASK_PREFIX + self.prompt if self.is_scheduled_task else self.prompt


def read_input(data: bytes) -> AgentInput:
    """Read the document, or raise `ProtocolError`: unknown fields and wrong types are refused."""
    fields = read_object(data, MAX_INPUT_BYTES)
    secrets = fields.optional_object("secrets")
    value = AgentInput(
        prompt=fields.text("prompt"),
        session_id=fields.optional_text("sessionId"),
        group_folder=fields.text("groupFolder"),
        chat_jid=fields.text("chatJid"),
        is_main=fields.flag("isMain"),
        is_scheduled_task=fields.flag("isScheduledTask", default=False),
        assistant_name=fields.optional_text("assistantName"),
        script=fields.optional_text("script"),
        secrets={} if secrets is None else secrets.texts(),
    )
    fields.finish()
    return value


def write_input(value: AgentInput) -> bytes:
    return write_object(
        {
            "prompt": value.prompt,
            "sessionId": value.session_id,
            "groupFolder": value.group_folder,
            "chatJid": value.chat_jid,
            "isMain": value.is_main,
            "isScheduledTask": value.is_scheduled_task or None,
            "assistantName": value.assistant_name,
            "script": value.script,
            "secrets": dict(value.secrets) or None,
        }
    )


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
