"""Input directory of a live agent on the host's side: further messages, and the request to close.

The agent can replace the directory by a link: it is opened by descriptor, so that the host never follows one.
"""

from __future__ import annotations

import os

from ..protocol import CLOSE_FILE, InputMessage, write_input_file
from ..requests.directory import open_directory, remove_tree, write_file
from ..workspace import Workspace

_INPUT: str = "input"


class InputDirectory:
    def __init__(self, workspace: Workspace, folder: str) -> None:
        self._workspace = workspace
        self._folder = folder
        self._written = 0

    @property
    def is_empty(self) -> bool:
        with open_directory(self._workspace.ipc, self._folder, _INPUT) as directory, os.scandir(directory) as entries:
            return next(entries, None) is None

    def clear(self) -> None:
        """Remove what an earlier agent has left: its messages were not acknowledged, and are read from the stream again."""
        with open_directory(self._workspace.ipc, self._folder, _INPUT) as directory:
            for name in os.listdir(directory):  # noqa: PTH208 - by its descriptor
                # Also a directory: in the place of a message it would fail every later turn of the group.
                remove_tree(name, directory)

    def write_message(self, text: str) -> None:
        """Write a message; the names of the files are in the order of the messages."""
        self._written += 1
        with open_directory(self._workspace.ipc, self._folder, _INPUT) as directory:
            write_file(f"{self._written:08d}.json", write_input_file(InputMessage(text)), directory)

    def request_close(self) -> None:
        with open_directory(self._workspace.ipc, self._folder, _INPUT) as directory:
            write_file(CLOSE_FILE, b"", directory)
