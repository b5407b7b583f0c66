"""Reads the settings table of one channel: unknown names, missing values and wrong types are refused; secrets are read at each use."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ...errors import Refusal
from ...model.accounts.principal import LOCAL_OWNER
from ...model.refusals import refuse
from ...ports.target import Secrets

KIND: Final = "kind"
NAME: Final = "name"
"""Name of the channel; the registry adds it for messages."""
_FILE: Final = "_file"


class ChannelSettings:
    """The table `[channels.NAME]`. A secret `token` is given as `token_file`, a path, or `token`, the name of a secret of the owner local."""

    def __init__(self, kind: str, table: Mapping[str, Any], texts: Collection[str], secrets: Collection[str]) -> None:
        self._place = f"[channels.{table.get(NAME, kind)}]"
        self._table = table
        known = {KIND, NAME, *texts, *secrets, *(name + _FILE for name in secrets)}
        for name in table:
            if name not in known:
                near = get_close_matches(name, sorted(known - {NAME}), 1)
                meant = f"; did you mean {near[0]}?" if near else f"; the names are {', '.join(sorted(known - {NAME}))}"
                raise self._refuse(f"it has no setting {name!r}{meant}")

    def text(self, name: str, default: str | None = None) -> str:
        value = self._table.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            raise self._refuse(f"{name} must be a text" if value is not None else f"{name} is missing")
        return value.strip()

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._table.get(name, ())
        if isinstance(value, str):
            value = [part for part in value.split(",") if part.strip()]
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
            raise self._refuse(f"{name} must be a list of texts")
        return tuple(each.strip() for each in value)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        value = self._table.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._refuse(f"{name} must be a whole number from {least} to {most}")
        return value

    def has_secret(self, name: str) -> bool:
        return name in self._table or name + _FILE in self._table

    def secret(self, name: str, secrets: Secrets) -> StoredSecret:
        if not self.has_secret(name):
            raise self._refuse(f"{name}{_FILE} or {name} is missing")
        if name + _FILE in self._table:
            return StoredSecret(self._place, secrets, file=self.text(name + _FILE))
        return StoredSecret(self._place, secrets, name=self.text(name))

    def _refuse(self, problem: str) -> Refusal:
        return refuse("bad_settings", file=self._place, problem=problem)


class StoredSecret:
    """A secret that is read at each use, so that it can be replaced without a restart; no message shows it."""

    def __init__(self, place: str, secrets: Secrets, *, file: str | None = None, name: str = "") -> None:
        self._place = place
        self._secrets = secrets
        self._file = file
        self._name = name

    async def read(self) -> str:
        if self._file is not None:
            return self._read_file(self._file)
        value = await self._secrets.reveal(LOCAL_OWNER, self._name)
        if not value:
            raise refuse("bad_settings", file=self._place, problem=f"the owner local has no secret {self._name!r}")
        return value.strip()

    async def is_equal(self, offered: str) -> bool:
        """Compare in constant time what a caller offers."""
        return hmac.compare_digest((await self.read()).encode(), offered.encode(errors="replace"))

    def _read_file(self, file: str) -> str:
        try:
            value = Path(file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = getattr(error, "strerror", None) or "no UTF-8"
            raise refuse("bad_settings", file=file, problem=problem) from None
        if not value or not value.isprintable():
            raise refuse("bad_settings", file=file, problem="it has to hold one line")
        return value
