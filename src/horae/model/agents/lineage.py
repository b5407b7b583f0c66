"""Lineage of tasks that agents make: the run that asked for a task, and how many tasks made each other before it; pure.

The server takes all of it from the live run. Nothing of it comes from what the agent writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

DEPTH_LABEL: Final = "horae/depth"
RUN_LABEL: Final = "horae/run"
MESSAGE_LABEL: Final = "horae/message"
AGENT_VIA: Final = "agent"
"""Front end of requests that come from the sandbox of a group's agent (`horae/via`)."""
DEFAULT_MAX_DEPTH: Final = 3
MAX_DEPTH: Final = 100


class Lineage(NamedTuple):
    """`run` is the run that asks, `depth` that of its task: 0 for a turn of messages and for a task of a person.

    `message` is the number of the newest message that the turn could read, in the stream of the group's chat.
    """

    run: str = ""
    depth: int = 0
    message: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """Labels of a task that this run makes."""
        labels = {DEPTH_LABEL: str(self.depth + 1)}
        if self.run:
            labels[RUN_LABEL] = self.run
        if self.message is not None:
            labels[MESSAGE_LABEL] = str(self.message)
        return labels


def depth_of(labels: Iterable[tuple[str, str]]) -> int:
    """Return the depth in the labels of a task; 0 for a task that no run of an agent made."""
    text = dict(labels).get(DEPTH_LABEL, "")
    return int(text) if text.isdecimal() else 0
