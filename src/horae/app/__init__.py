"""The library's front door: one object, no global state, and importing it starts nothing."""

from __future__ import annotations

from .declared import TaskFunction
from .handle import TaskHandle
from .horae import Horae

__all__ = ["Horae", "TaskFunction", "TaskHandle"]
