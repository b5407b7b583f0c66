"""A name that nothing has: the one that was probably meant is named in the refusal."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from ..errors import NotFound, Sentence
from ..model.page import MAX_PAGE_SIZE
from .output.styled_text import replace_unprintable
from .session.command_session import CommandSession

if TYPE_CHECKING:
    from ..choices import Language


async def with_nearest(app: CommandSession, refusal: NotFound) -> NotFound:
    """The same refusal, with a better hint where there is one; only the first page of names is looked at."""
    page = await app.service.tasks.page(app.principal, limit=MAX_PAGE_SIZE)
    near = get_close_matches(str(refusal.facts.get("id", "")), [each.task.name for each in page.items], 1)
    if not near:
        return refusal
    en, zh = refusal.in_language("en"), refusal.in_language("zh")
    name = replace_unprintable(near[0])
    better = {"en": en._replace(hint=f"Did you mean '{name}'?"), "zh": zh._replace(hint=f"是不是“{name}”？")}
    return type(refusal)(refusal.code, cast("dict[Language, Sentence]", better), facts=refusal.facts)
