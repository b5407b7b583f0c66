"""The units that systemd reads: their text, for a machine or for one user, the engine with its API or a worker alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

MARK: Final = "# Written by `horae service install`"
PROGRAM: Final = "/opt/horae/current/bin/horae"
"""Where `deploy/update.sh` keeps the version that is in use."""
SYSTEM_STORE: Final = "sqlite:////var/lib/horae/horae.db"
DOCUMENTATION: Final = "docs/operations.md"

_UNIT: Final = """\
[Unit]
Description={about}
Documentation=man:systemd.service(5)
{after}# What cannot begin for want of a database is tried again for as long as it takes.
StartLimitIntervalSec=0
"""
_AFTER: Final = """\
Wants=network-online.target time-sync.target
After=network-online.target time-sync.target postgresql.service mariadb.service
"""
_SERVICE: Final = """
[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=2
# What was asked for wrongly (usage, no such file, refused settings) is not asked for again and again.
RestartPreventExitStatus=2 3 6
TimeoutStartSec=300
# What runs may end within ten seconds, the rest is handed back.
TimeoutStopSec=30
# The supervisor alone is told: it ends its children in good order.
KillMode=mixed
# No sign of life for so long from the engine or the API: killed, and begun again.
WatchdogSec=60
LimitNOFILE=65536
UMask=0077
"""
_EVERYWHERE: Final = """
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
"""
_SANDBOX: Final = """
# A user that exists while the service runs; its data stays in /var/lib/horae.
User=horae
DynamicUser=yes
StateDirectory=horae
StateDirectoryMode=0700
WorkingDirectory=%S/horae
Environment=HOME=%S/horae XDG_DATA_HOME=%S XDG_CONFIG_HOME=/etc

ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
# Not ProcSubset=pid: by the boot of the machine a node knows that a neighbour is certainly gone.
ProtectProc=invisible
CapabilityBoundingSet=
AmbientCapabilities=
KeyringMode=private
RemoveIPC=yes
RestrictNamespaces=yes
# Programs that write their own machine code (node, java) need a drop-in that says no here, if tasks are to run them.
MemoryDenyWriteExecute=yes
"""


class Chosen(NamedTuple):
    """What the text of a unit depends on. `program` is a command, word by word; `place` where an app with functions is."""

    program: Sequence[str] = (PROGRAM,)
    user: bool = False
    worker: bool = False
    place: str | None = None
    variables: str = "/etc/horae/horae.env"
    """A file with the address of the store and other settings; readable by root, or the user, alone."""

    @property
    def name(self) -> str:
        return "horae-worker@.service" if self.worker else "horae.service"


def unit_text(chosen: Chosen) -> str:
    about = "Horae worker %i" if chosen.worker else "Horae, a durable scheduler: engine and HTTP API"
    head = _UNIT.format(about=about, after="" if chosen.user else _AFTER)
    body = _SERVICE.format(command=_command(chosen), environment=_environment(chosen))
    wanted = "default.target" if chosen.user else "multi-user.target"
    sandbox = _EVERYWHERE + ("" if chosen.user else _SANDBOX)
    return f"{MARK}; see {DOCUMENTATION}.\n{head}{body}{sandbox}\n[Install]\nWantedBy={wanted}\n"


def _command(chosen: Chosen) -> str:
    words = [*chosen.program, "worker" if chosen.worker else "up"]
    if chosen.place is not None:
        words.append(chosen.place)
    # Words that the file of variables may add, each between spaces.
    return " ".join([*map(quoted, words), "$HORAE_OPTIONS"])


def _environment(chosen: Chosen) -> str:
    """Later ones win: what was said for one worker, over what was said for all."""
    file = chosen.variables
    lines = ["Environment=HORAE_OPTIONS=", "Environment=PYTHONUNBUFFERED=1"]
    if not chosen.user:
        lines.append(f"Environment=HORAE_STORE={SYSTEM_STORE}")
    lines.append(f"EnvironmentFile=-{_path(file)}")
    if chosen.worker:
        lines.append(f"EnvironmentFile=-{_path(file.removesuffix('.env'))}-worker-%i.env")
    return "".join(f"{line}\n" for line in lines)


def _path(path: str) -> str:
    return path.replace("%", "%%")


def quoted(word: str) -> str:
    """One word of a command, as systemd reads it: nothing in it is a variable, a specifier or an escape."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or "'" in word or ";" in word else word


def variable_line(name: str, value: str) -> str:
    """One line of the file of variables, as systemd and a shell read it alike."""
    escaped = "".join(f"\\{each}" if each in '"\\`$' else each for each in value)
    return f'{name}="{escaped}"\n'
