"""Protocol between host and agent: one JSON document on stdin, marked JSON results on stdout; pure, standard library only."""

from __future__ import annotations

from .documents import ProtocolError
from .input import (
    CLOSE_FILE,
    SCHEDULED_TASK_PREFIX,
    AgentInput,
    InputMessage,
    read_input,
    read_input_file,
    write_input,
    write_input_file,
)
from .result import AgentResult, Usage, read_result, read_tool_call, write_result, write_tool_call
from .result_parser import BadResult, ResultParser

__all__ = [
    "CLOSE_FILE",
    "SCHEDULED_TASK_PREFIX",
    "AgentInput",
    "AgentResult",
    "BadResult",
    "InputMessage",
    "ProtocolError",
    "ResultParser",
    "Usage",
    "read_input",
    "read_input_file",
    "read_result",
    "read_tool_call",
    "write_input",
    "write_input_file",
    "write_result",
    "write_tool_call",
]
