"""Temporary Prosody, an XMPP server: one host with TLS, rooms with an archive, and a module that refuses texts on demand."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.ports import HOST
from tests.servers.programs import account
from tests.servers.server import Server

DOMAIN: Final = "horae.test"
ROOMS: Final = f"rooms.{DOMAIN}"
_CONFIG: Final = """
data_path = "{folder}/data"
plugin_paths = {{ "{folder}/modules" }}
interfaces = {{ "{host}" }}
c2s_ports = {{ {port} }}
modules_disabled = {{ "s2s" }}
modules_enabled = {{ "roster", "saslauth", "tls", "disco", "ping", "message", "iq", "presence", "mam" }}
authentication = "internal_plain"
storage = "internal"
archive_expires_after = "never"
c2s_require_encryption = true
disable_sasl_mechanisms = {{ "SCRAM-SHA-1", "SCRAM-SHA-256" }}
ssl = {{ key = "{folder}/key.pem"; certificate = "{folder}/certificate.pem" }}
log = {{ info = "*console" }}
VirtualHost "{domain}"
Component "{rooms}" "muc"
    modules_enabled = {{ "muc_mam", "refuse_texts" }}
    muc_log_by_default = true
    muc_room_locking = false
    refuse_texts_file = "{folder}/refuse"
"""
_MODULE: Final = """
-- Answers texts to rooms with "resource-constraint" while the file exists. Its line: an id, the sender, how many pass before.
local st = require "util.stanza";
local path = module:get_option_string("refuse_texts_file");
local passed = {};
module:hook("message/bare", function (event)
    local file = io.open(path);
    if not file then return; end
    local id, sender, free = (file:read("*l") or ""):match("^(%S+) (%S+) (%d+)$");
    file:close();
    if not id or event.stanza.attr.from:match("^[^/]+") ~= sender then return; end
    passed[id] = (passed[id] or 0) + 1;
    if passed[id] <= tonumber(free) then return; end
    event.origin.send(st.error_reply(event.stanza, "wait", "resource-constraint", "Too many messages"));
    return true;
end, 1000);
"""


class ProsodyServer(Server):
    name = "prosody"
    daemon = "prosody"
    package = "prosody"
    user = "prosody"
    ready = f"{ROOMS}:tls"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    def add_account(self, name: str) -> str:
        """Create an account, or give it a new password; return the password."""
        password = secrets.token_urlsafe(12)
        file = self._account_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'return {{ ["password"] = "{password}"; }};\n')
        self._own(file, file.parent, file.parent.parent)
        return password

    def remove_account(self, name: str) -> None:
        self._account_file(name).unlink()

    def refuse_texts(self, sender: str, *, after: int) -> None:
        temporary = self.folder / "refuse.new"
        temporary.write_text(f"{secrets.token_hex(4)} {sender} {after}\n")
        temporary.chmod(0o644)
        temporary.rename(self.folder / "refuse")

    def accept_texts(self) -> None:
        (self.folder / "refuse").unlink(missing_ok=True)

    def _account_file(self, name: str) -> Path:
        return self.folder / "data" / DOMAIN.replace(".", "%2e") / "accounts" / f"{name}.dat"

    def _lay_out(self) -> None:
        places = {"folder": self.folder, "host": HOST, "port": self.port, "domain": DOMAIN, "rooms": ROOMS}
        (self.folder / "data").mkdir()
        (self.folder / "modules").mkdir()
        (self.folder / "modules" / "mod_refuse_texts.lua").write_text(_MODULE)
        (self.folder / "prosody.cfg.lua").write_text(_CONFIG.format(**places))
        key, certificate = _self_signed()
        (self.folder / "key.pem").write_bytes(key)
        (self.folder / "certificate.pem").write_bytes(certificate)
        self._own(*self.folder.rglob("*"))

    def _command(self) -> Sequence[str]:
        return [self._program("prosody"), "-F", "--config", str(self.folder / "prosody.cfg.lua")]

    def _own(self, *paths: Path) -> None:
        if (user := account(self.user)) is not None:
            for path in paths:
                shutil.chown(path, user)


def _self_signed() -> tuple[bytes, bytes]:
    """Return a key and a certificate of the domain, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, DOMAIN)])
    now = datetime.now(UTC)  # noqa: TID251 - certificates are checked in real time
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(DOMAIN), x509.DNSName(ROOMS)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, certificate.public_bytes(pem)
