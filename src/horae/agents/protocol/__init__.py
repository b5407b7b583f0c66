"""Protocol between host and agent: one JSON document on stdin, marked JSON results on stdout; pure, standard library only."""

from __future__ import annotations

from .errors import ProtocolError
from .input import SCHEDULED_TASK_PREFIX, AgentInput, read_input, write_input
from .input_files import CLOSE_FILE, InputMessage, read_input_file, write_input_file
from .result import AgentResult, Usage, read_result, write_result
from .result_parser import BadResult, ResultParser
from .tool_calls import read_tool_call, write_tool_call

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
