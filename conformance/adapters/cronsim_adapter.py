"""cronsim, as an iterator over local datetimes."""

from __future__ import annotations

from cronsim import CronSim, CronSimError

from conformance.adapters.protocol import Question, serve


def fires(question: Question) -> CronSim:
    return CronSim(question.expression, question.start)


if __name__ == "__main__":
    serve("cronsim", fires, (CronSimError,))
