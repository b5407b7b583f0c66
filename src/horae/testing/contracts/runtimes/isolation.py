"""Contract of isolation: no network, no privileges, a read-only root, and only the mounts of the spec."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import json
from typing import Any

from ....ports.runtime import Mount
from .harness import RuntimeCase, RuntimeHarness

_TRY_WRITE = """
import json, sys
def attempt(path):
    try:
        open(path, "w").write("x")
    except OSError as error:
        return error.strerror
    return "written"
print(json.dumps([attempt(path) for path in sys.argv[1:-1]]))
"""


class RuntimeIsolationContract(RuntimeCase):
    forbids_user_namespaces = True

    async def test_there_is_no_network(self, harness: RuntimeHarness) -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        code = (
            "import json, os, socket\ntry:\n  socket.create_connection(('127.0.0.1', %d), 5); reached = True\n"
            "except OSError: reached = False\nprint(json.dumps([reached, [name for _, name in socket.if_nameindex()]]))"
        )
        done = await harness.run(code % port)
        server.close()
        assert json.loads(done.stdout) == [False, ["lo"]], done.stderr

    async def test_loopback_inside_works(self, harness: RuntimeHarness) -> None:
        code = (
            "import socket; server = socket.create_server(('127.0.0.1', 0));"
            "socket.create_connection(server.getsockname()); print('connected')"
        )
        assert (await harness.run(code)).stdout == b"connected\n"

    async def test_the_user_is_not_root_and_has_no_privileges(self, harness: RuntimeHarness) -> None:
        code = (
            "import json, os; status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines());"
            "print(json.dumps([os.getuid(), os.getgid(), *(int(status[n], 16) for n in"
            "('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs'))]))"
        )
        user, group, *privileges = json.loads((await harness.run(code)).stdout)
        assert user != 0
        assert group != 0
        assert privileges == [0, 0, 0, 0, 0, 1]

    async def test_the_root_is_read_only_and_scratch_is_not(self, harness: RuntimeHarness) -> None:
        paths = ("/x", "/usr/x", "/etc/x", "/usr/bin/python3", "/tmp/x", "/proc/sys/kernel/core_pattern")  # noqa: S108 - inside
        *refused, scratch, system = await self._attempts(harness, *paths)
        assert "written" not in refused
        assert (scratch, system == "written") == ("written", False)

    async def test_scratch_is_limited(self, harness: RuntimeHarness) -> None:
        done = await harness.run("open('/tmp/x', 'wb').write(b'x' * 4_000_000)")
        assert b"No space left" in done.stderr

    async def test_programs_in_scratch_can_run(self, harness: RuntimeHarness) -> None:
        code = (
            "import os, subprocess; open('/tmp/x', 'w').write('#!/bin/sh\\necho ran\\n'); os.chmod('/tmp/x', 0o700);"
            "subprocess.run(['/tmp/x'])"
        )
        assert (await harness.run(code)).stdout == b"ran\n"

    async def test_mounts_are_read_only_unless_writable(self, harness: RuntimeHarness) -> None:
        free, fixed = harness.directory("free"), harness.directory("fixed")
        (fixed / "note").write_text("早上好", encoding="utf-8")
        (fixed / "note").chmod(0o644)
        mounts = [Mount(str(free), "/workspace/free", writable=True), Mount(str(fixed), "/workspace/fixed")]
        attempts = await self._attempts(harness, "/workspace/free/x", "/workspace/fixed/x", mounts=mounts)
        assert attempts == ["written", "Read-only file system"]
        assert (free / "x").read_text() == "x"
        code = "import os; print(open('/workspace/fixed/note', encoding='utf-8').read(), os.getcwd())"
        done = await harness.run(code, mounts=mounts, directory="/workspace/free")
        assert done.stdout.decode() == "早上好 /workspace/free\n"

    async def test_a_single_file_can_be_mounted(self, harness: RuntimeHarness) -> None:
        file = harness.directory("files") / "settings.json"
        file.write_text("{}")
        file.chmod(0o644)
        done = await harness.run(
            "print(open('/workspace/settings.json').read())", mounts=[Mount(str(file), "/workspace/settings.json")]
        )
        assert done.stdout == b"{}\n"

    async def test_mounts_in_a_private_folder_of_the_host_work(self, harness: RuntimeHarness) -> None:
        shared = harness.directory("private") / "shared"
        shared.mkdir()
        shared.chmod(0o755)
        shared.parent.chmod(0o700)
        harness.folder.chmod(0o700)
        done = await harness.run(
            "import os; print(os.listdir('/workspace'))", mounts=[Mount(str(shared), "/workspace/s")]
        )
        assert done.stdout == b"['s']\n", done.stderr

    async def test_files_of_the_host_are_not_there(self, harness: RuntimeHarness) -> None:
        secret = harness.folder / "secret"
        secret.write_text("x")
        secret.chmod(0o644)
        done = await harness.run(f"import os; print(os.path.exists({str(secret)!r}), os.path.exists('/etc/shadow'))")
        assert done.stdout == b"False False\n"

    async def test_link_inside_of_a_mount_does_not_lead_to_the_host(self, harness: RuntimeHarness) -> None:
        free = harness.directory("free")
        secret = harness.folder / "secret"
        secret.write_text("x")
        (free / "link").symlink_to(secret)
        mounts = [Mount(str(free), "/workspace/free", writable=True)]
        done = await harness.run("import os; print(os.path.exists('/workspace/free/link'))", mounts=mounts)
        assert done.stdout == b"False\n"

    async def test_processes_of_the_host_are_invisible(self, harness: RuntimeHarness) -> None:
        done = await harness.run("import os; print(sum(name.isdigit() for name in os.listdir('/proc')))")
        assert int(done.stdout) <= 4

    async def test_privileged_calls_are_refused(self, harness: RuntimeHarness) -> None:
        code = (
            "import ctypes, json, os\nlibc = ctypes.CDLL(None)\ntry:\n  os.setuid(0); user = True\n"
            "except OSError: user = False\nprint(json.dumps([user, libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)]))"
        )
        assert json.loads((await harness.run(code)).stdout) == [False, -1]

    async def test_new_user_namespace_is_refused(self, harness: RuntimeHarness) -> None:
        """In one of its own, a process would have all privileges over new mounts, and reach more of the kernel."""
        if not self.forbids_user_namespaces:
            return
        done = await harness.run("import ctypes; print(ctypes.CDLL(None).unshare(0x10000000 | 0x20000))")
        assert done.stdout == b"-1\n"

    async def _attempts(self, harness: RuntimeHarness, *paths: str, **options: Any) -> list[str]:
        done = await harness.run(_TRY_WRITE, *paths, **options)
        assert done.exit.code == 0, done.stderr
        attempts: list[str] = json.loads(done.stdout)
        return attempts
