"""How a connection is encrypted, and whom it trusts."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

MODES: Final = ("disabled", "required", "verify-ca", "verify-identity")


class Encryption(NamedTuple):
    """`mode` in the server's own words: `required` trusts everybody, `verify-identity` only whom the certificate names."""

    mode: str = "disabled"
    authority: str | None = None
    certificate: str | None = None
    key: str | None = None

    def context(self) -> ssl.SSLContext | None:
        """None where nothing is encrypted. Raises OSError for a file that cannot be read."""
        if self.mode == "disabled":
            return None
        made = ssl.create_default_context(cafile=self.authority)
        made.check_hostname = self.mode == "verify-identity"
        if self.mode == "required":
            made.verify_mode = ssl.CERT_NONE
        if self.certificate is not None:
            made.load_cert_chain(self.certificate, self.key)
        return made
