"""Temporary dockerd with its own socket, images and containers, without networks of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.servers.programs import program
from tests.servers.server import Server

IMAGE: Final = "horae-tests:root"
_PATIENCE: Final = 300


class DockerServer(Server):
    name = "dockerd"
    daemon = "dockerd"
    package = "docker.io"
    user = "root"
    ready = "API listen on"

    @property
    def options(self) -> Sequence[str]:
        """Options of the client before its command."""
        return ("--host", f"unix://{self.folder}/docker.sock")

    def load_root(self, root: Path) -> None:
        """Make the image `IMAGE` of a root directory."""
        client = program("docker", package=self.package)
        archive = ("tar", "--create", "--directory", str(root), ".")
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as packed:
            done = subprocess.run(
                [client, *self.options, "import", "-", IMAGE],
                stdin=packed.stdout,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        assert done.returncode == 0, done.stderr

    def _lay_out(self) -> None: ...

    def _command(self) -> Sequence[str]:
        folder = self.folder
        places = {"data-root": "data", "exec-root": "exec", "pidfile": "docker.pid"}
        # In a mount namespace of its own: nothing stays mounted when it is killed.
        return [
            *(program("unshare", package="util-linux"), "--mount", "--propagation", "private"),
            self._program(self.daemon),
            *(f"--{option}={folder}/{name}" for option, name in places.items()),
            f"--host=unix://{folder}/docker.sock",
            *("--bridge=none", "--iptables=false", "--ip-masq=false", "--ip-forward=false"),
        ]
