"""An app whose functions declare policies: other processes schedule them by name."""

from __future__ import annotations

from functools import partial
from typing import Final

from horae import Horae
from horae.service.service import Service

LABELS: Final = {"team": "ops"}


def declaring_app(url: str, *, engine: bool = False, labels: bool = True) -> Horae:
    """`labels`: whether the declaration of `mail` has labels too."""
    app = Horae(url, zone="UTC", engine=engine)
    declare = partial(
        app.task,
        name="mail",
        retries=0,
        lane="mailer",
        guarantee="at_most_once",
        zone="Asia/Tokyo",
        timeout="90s",
        missed="skip",
        overlap="queue",
        priority=7,
    )

    @(declare(labels=LABELS) if labels else declare())
    async def mail(user: int, subject: str = "hello") -> str:
        return f"{user}: {subject}"

    @app.task(name="report")
    async def report() -> None: ...

    return app


async def register(url: str, *, labels: bool = True) -> None:
    """Open the app once without an engine, as a web process would, so that its functions are registered."""
    async with declaring_app(url, labels=labels):
        pass


async def register_in(service: Service) -> None:
    """Register the functions in a service that is open already."""
    app = declaring_app("memory://")
    await service.functions.register(app.who, app._registrations())
