"""Reads the settings of OpenID Connect: provider, client, and the rules that map claims to owners and roles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..clock import Clock
from ..model.accounts.principal import LOCAL_OWNER, Role
from ..model.refusals import refuse
from ..outgoing.addresses import read_networks
from ..service.accounts.identity import ClaimRules
from ..service.service import Service
from ..settings import Settings

if TYPE_CHECKING:
    from ..web.request_context import ExternalSignIn

_REFUSE, _CREATE = "refuse", "create"


@asynccontextmanager
async def open_external_sign_in(
    settings: Settings, service: Service, clock: Clock
) -> AsyncIterator[ExternalSignIn | None]:
    """Yield the sign-in with an identity provider; None where no issuer is set. Raises a refusal for bad settings."""
    issuer = _text(settings, "oidc_issuer")
    if issuer is None:
        yield None
        return
    sign_in = _make(settings, service, clock, issuer)
    try:
        yield sign_in
    finally:
        await sign_in.provider.close()


def _make(settings: Settings, service: Service, clock: Clock, issuer: str) -> ExternalSignIn:
    for library in ("authlib", "joserfc", "aiohttp"):
        if find_spec(library) is None:
            raise refuse("missing_part", library=library, extra="oidc")
    from ..outgoing.identity_provider import IdentityProvider, ProviderSettings, host_of  # noqa: PLC0415 - an extra
    from ..web.request_context import ExternalSignIn  # noqa: PLC0415

    _check_address("oidc_issuer", issuer)
    client_id = _text(settings, "oidc_client_id")
    if client_id is None:
        raise refuse("missing_field", name="oidc_client_id")
    console_url = _text(settings, "console_url")
    if console_url is not None:
        _check_address("console_url", console_url)
    provider = ProviderSettings(
        issuer,
        client_id,
        _text(settings, "oidc_name") or host_of(issuer),
        _ClientSecret(settings, service).read,
        _text(settings, "oidc_scopes") or "openid",
    )
    owners = str(settings.value("oidc_new_owners")).strip().lower()
    if owners not in (_REFUSE, _CREATE):
        raise refuse("bad_choice", name="oidc_new_owners", value=owners, allowed=f"{_REFUSE}, {_CREATE}")
    return ExternalSignIn(
        IdentityProvider(provider, clock, read_networks(settings.value("outgoing_networks"))),
        read_rules(settings),
        owners == _CREATE,
        None if console_url is None else console_url.rstrip("/"),
    )


class _ClientSecret:
    """The client secret, read at each use: it can be replaced without a restart."""

    def __init__(self, settings: Settings, service: Service) -> None:
        self._file = _text(settings, "oidc_client_secret_file")
        self._name = _text(settings, "oidc_client_secret")
        self._service = service

    async def read(self) -> str | None:
        """Return the secret from its file, or the one with this name of the local owner; None where neither is set."""
        if self._file is not None:
            return _read_secret_file(self._file)
        if self._name is None:
            return None
        secret = await self._service.secrets.reveal(LOCAL_OWNER, self._name)
        if secret is None:
            raise refuse("bad_settings", file="oidc_client_secret", problem=f"no secret {self._name!r} of local")
        return secret


def _read_secret_file(file: str) -> str:
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "no UTF-8"
        raise refuse("bad_settings", file=file, problem=problem) from None


_SEPARATOR: Final = "="


def read_rules(settings: Settings) -> ClaimRules:
    """Return the rules of the settings; `oidc_roles` are pairs such as `ops=admin`."""
    roles = []
    for text in _texts(settings, "oidc_roles"):
        value, separator, role = text.rpartition(_SEPARATOR)
        if not separator or not value.strip() or role.strip() not in tuple(Role):
            raise refuse("bad_choice", name="oidc_roles", value=text, allowed="GROUP=admin, GROUP=member, GROUP=viewer")
        roles.append((value.strip(), Role(role.strip())))
    domains = frozenset(each.lower().removeprefix("@") for each in _texts(settings, "oidc_domains"))
    owner_claim, role_claim = str(settings.value("oidc_owner_claim")), str(settings.value("oidc_role_claim"))
    return ClaimRules(owner_claim.strip(), role_claim.strip(), tuple(roles), domains)


def _texts(settings: Settings, name: str) -> list[str]:
    values: Any = settings.value(name)
    return [str(each) for each in values]


def _text(settings: Settings, name: str) -> str | None:
    value = settings.value(name)
    return str(value).strip() or None if value is not None else None


def _check_address(name: str, url: str) -> None:
    """Refuse an address that is not HTTP or HTTPS, or has a query: both are compared and completed as texts."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise refuse("bad_policy", name=name, value=url, wanted="https://…")
