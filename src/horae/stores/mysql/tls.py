"""TLS settings of a MySQL connection: encryption mode, certificate authority and client certificate."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

TLS_MODES: Final = ("disabled", "required", "verify-ca", "verify-identity")


class TLSOptions(NamedTuple):
    """`mode` is the server's ssl-mode: `required` accepts any certificate, `verify-identity` checks the host name too."""

    mode: str = "disabled"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    def make_context(self) -> ssl.SSLContext | None:
        """Return the SSL context, None if TLS is disabled. Raises OSError for a file that cannot be read."""
        if self.mode == "disabled":
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname = self.mode == "verify-identity"
        if self.mode == "required":
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context
