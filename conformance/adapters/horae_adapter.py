"""Horae, through its public preview."""

from __future__ import annotations

from datetime import datetime

import horae
from conformance.adapters.protocol import Question, serve


def fires(question: Question) -> list[datetime]:
    return horae.preview(
        question.expression,
        zone=question.zone,
        after=question.after,
        until=question.until,
        limit=None,
        gap=question.gap,  # type: ignore[arg-type]  # the kit's words are the product's
        fold=question.fold,  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    serve("horae", fires, (horae.InvalidSchedule,), policies=True, release=horae.__version__)
