"""Refusals of the test tools: code, sentence and hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "travel_app_open": RefusalEntry(
            Conflict,
            "The app is open, so it cannot travel in time.",
            "Close it first: use TimeTravel outside of 'async with app:' and 'with app.sync():'.",
            "应用已打开,无法进行时间旅行。",
            "请先关闭它:不要在“async with app:”或“with app.sync():”之内使用 TimeTravel。",
        ),
        "travel_store_in_use": RefusalEntry(
            Conflict,
            "A node is using {store} ({nodes}), so time travel does not touch it.",
            "Leave store out to travel in memory, or stop the node first.",
            "有节点正在使用 {store}({nodes}),时间旅行不会触碰它。",
            "请省略 store,在内存中旅行;或先停止该节点。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
