"""Settings of one command: read once from files and environment, on first use, and passed on with the printer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...settings import Settings


class CommandSettings:
    """Reads the settings when they are first needed, so that `--help` reads none."""

    __slots__ = ("_read",)

    def __init__(self) -> None:
        self._read: Settings | None = None

    @property
    def base(self) -> Settings:
        """Settings without options of the command; raises a refusal if they are invalid."""
        if self._read is None:
            from ...runtime.process_settings import check_output, load_settings  # noqa: PLC0415 - `--help` does without

            settings = load_settings(os.environ)
            check_output(settings)
            self._read = settings
        return self._read

    def with_store(self, store: str | None) -> Settings:
        """Settings with the store of an option, if it is given."""
        return self.base if store is None else self.base.with_flag("store", store)
