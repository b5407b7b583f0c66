"""An app whose functions declare policies: other processes schedule them by name."""

from __future__ import annotations

from horae import Horae
from horae.service.service import Service


def declaring_app(url: str, *, engine: bool = False) -> Horae:
    app = Horae(url, zone="UTC", engine=engine)

    @app.task(
        name="mail",
        retries=0,
        lane="mailer",
        guarantee="at_most_once",
        zone="Asia/Tokyo",
        timeout="90s",
        missed="skip",
        overlap="queue",
        priority=7,
        labels={"team": "ops"},
    )
    async def mail(user: int, subject: str = "hello") -> str:
        return f"{user}: {subject}"

    @app.task(name="report")
    async def report() -> None: ...

    return app


async def register(url: str) -> None:
    """Open the app once, without an engine, as a web process would."""
    async with declaring_app(url):
        pass


async def register_in(service: Service) -> None:
    """The same for a service that is open already."""
    app = declaring_app("memory://")
    await service.functions.register(app.who, app._registrations())
