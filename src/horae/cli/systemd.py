"""systemd for `horae service`: the text of its units (machine or user, API and engine or worker alone), and `systemctl`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

MARK: Final = "# Written by `horae service install`"
PROGRAM: Final = "/opt/horae/current/bin/horae"
"""Where `deploy/update.sh` links the version in use."""
SYSTEM_STORE: Final = "sqlite:////var/lib/horae/horae.db"
DOCUMENTATION: Final = "docs/operations.md"
_BOOTED: Final = Path("/run/systemd/system")
_PROPERTIES: Final = "ActiveState,SubState,StatusText,StateChangeTimestamp"
_TIMEOUT_SECONDS: Final = 60.0

_UNIT: Final = """\
[Unit]
Description={about}
Documentation=man:systemd.service(5)
{after}# No limit: a start that fails because the database is away is tried again for as long as it takes.
StartLimitIntervalSec=0
"""
_AFTER: Final = """\
Wants=network-online.target time-sync.target
After=network-online.target time-sync.target postgresql.service mariadb.service redis-server.service
"""
_SERVICE: Final = """
[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=2
# Not restarted after wrong usage, a missing file or refused settings.
RestartPreventExitStatus=2 3 6
TimeoutStartSec=300
# Runs have ten seconds to end, the others are handed back.
TimeoutStopSec=30
# SIGTERM goes to the supervisor only, which stops its children gracefully.
KillMode=mixed
# Killed and restarted if the engine or the API sends no heartbeat for so long.
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
# Programs that write their own machine code (node, java) need a drop-in with `no` here, if tasks run them.
MemoryDenyWriteExecute=yes
"""


class UnitOptions(NamedTuple):
    """Values in the text of a unit. `program` is a command as a list of words, `place` the file or module of an app."""

    program: Sequence[str] = (PROGRAM,)
    user: bool = False
    worker: bool = False
    place: str | None = None
    variables: str = "/etc/horae/horae.env"
    """Path of the environment file with the store URL and other settings, readable by root or the user alone."""

    @property
    def name(self) -> str:
        return "horae-worker@.service" if self.worker else "horae.service"


def unit_text(options: UnitOptions) -> str:
    about = "Horae worker %i" if options.worker else "Horae, a durable scheduler: engine and HTTP API"
    head = _UNIT.format(about=about, after="" if options.user else _AFTER)
    body = _SERVICE.format(command=_command(options), environment=_environment(options))
    target = "default.target" if options.user else "multi-user.target"
    sandbox = _EVERYWHERE + ("" if options.user else _SANDBOX)
    return f"{MARK}; see {DOCUMENTATION}.\n{head}{body}{sandbox}\n[Install]\nWantedBy={target}\n"


def _command(options: UnitOptions) -> str:
    words = [*options.program, "worker" if options.worker else "up"]
    if options.place is not None:
        words.append(options.place)
    # Options that the environment file may add, separated by spaces.
    return " ".join([*map(quote_word, words), "$HORAE_OPTIONS"])


def _environment(options: UnitOptions) -> str:
    """Return the lines for the environment. Later ones win: variables of one worker override those of all."""
    file = options.variables
    lines = ["Environment=HORAE_OPTIONS=", "Environment=PYTHONUNBUFFERED=1"]
    if not options.user:
        lines.append(f"Environment=HORAE_STORE={SYSTEM_STORE}")
    lines.append(f"EnvironmentFile=-{_path(file)}")
    if options.worker:
        lines.append(f"EnvironmentFile=-{_path(file.removesuffix('.env'))}-worker-%i.env")
    return "".join(f"{line}\n" for line in lines)


def _path(path: str) -> str:
    return path.replace("%", "%%")


def quote_word(word: str) -> str:
    """Quote one word of a command for systemd, so that nothing in it is a variable, a specifier or an escape."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or "'" in word or ";" in word else word


def variable_line(name: str, value: str) -> str:
    """Return one line of the environment file, quoted so that systemd and a shell read the same value."""
    escaped = "".join(f"\\{each}" if each in '"\\`$' else each for each in value)
    return f'{name}="{escaped}"\n'


def is_systemd_running() -> bool:
    """Whether this machine was booted by systemd: sd_booted(3) checks the same folder."""
    return _BOOTED.exists()


def systemctl_command(*, user: bool) -> str:
    return "systemctl --user" if user else "systemctl"


def unit_properties(unit: str, *, user: bool) -> dict[str, str]:
    """Return the state of a unit by property name; empty where systemd does not run."""
    output = _systemctl("show", unit, f"--property={_PROPERTIES}", user=user)
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


def stop_unit(unit: str, *, user: bool) -> None:
    """Stop the unit with all its instances gracefully, and disable it."""
    _systemctl("stop", unit.replace("@.", "@*."), user=user)
    _systemctl("disable", unit, user=user)


def _systemctl(*arguments: str, user: bool) -> str:
    program = shutil.which("systemctl")
    if program is None or not is_systemd_running():
        return ""
    command = [program, *(["--user"] if user else []), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS)  # noqa: S603
    return done.stdout
