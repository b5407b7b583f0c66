"""Zone name resolver: IANA names, cities and regions, in English and Chinese (Europe/Berlin, Berlin time, 北京时间)."""

from __future__ import annotations

from functools import cache
from typing import Final

from ..cron_fields import ALIASES
from ..refusals import refuse
from ..tzif import zone_names
from ..zones import refuse_unknown_zone

CHINESE_CITIES: Final = {
    "北京": "Asia/Shanghai",
    "上海": "Asia/Shanghai",
    "中国": "Asia/Shanghai",
    "重庆": "Asia/Shanghai",
    "广州": "Asia/Shanghai",
    "深圳": "Asia/Shanghai",
    "乌鲁木齐": "Asia/Urumqi",
    "香港": "Asia/Hong_Kong",
    "澳门": "Asia/Macau",
    "台北": "Asia/Taipei",
    "东京": "Asia/Tokyo",
    "日本": "Asia/Tokyo",
    "首尔": "Asia/Seoul",
    "韩国": "Asia/Seoul",
    "新加坡": "Asia/Singapore",
    "曼谷": "Asia/Bangkok",
    "雅加达": "Asia/Jakarta",
    "吉隆坡": "Asia/Kuala_Lumpur",
    "马尼拉": "Asia/Manila",
    "河内": "Asia/Ho_Chi_Minh",
    "加尔各答": "Asia/Kolkata",
    "孟买": "Asia/Kolkata",
    "印度": "Asia/Kolkata",
    "迪拜": "Asia/Dubai",
    "莫斯科": "Europe/Moscow",
    "伦敦": "Europe/London",
    "巴黎": "Europe/Paris",
    "柏林": "Europe/Berlin",
    "德国": "Europe/Berlin",
    "法国": "Europe/Paris",
    "马德里": "Europe/Madrid",
    "罗马": "Europe/Rome",
    "阿姆斯特丹": "Europe/Amsterdam",
    "苏黎世": "Europe/Zurich",
    "维也纳": "Europe/Vienna",
    "伊斯坦布尔": "Europe/Istanbul",
    "开罗": "Africa/Cairo",
    "约翰内斯堡": "Africa/Johannesburg",
    "纽约": "America/New_York",
    "美东": "America/New_York",
    "芝加哥": "America/Chicago",
    "美中": "America/Chicago",
    "丹佛": "America/Denver",
    "洛杉矶": "America/Los_Angeles",
    "旧金山": "America/Los_Angeles",
    "美西": "America/Los_Angeles",
    "多伦多": "America/Toronto",
    "温哥华": "America/Vancouver",
    "墨西哥城": "America/Mexico_City",
    "圣保罗": "America/Sao_Paulo",
    "悉尼": "Australia/Sydney",
    "墨尔本": "Australia/Melbourne",
    "奥克兰": "Pacific/Auckland",
    "檀香山": "Pacific/Honolulu",
    "世界协调": "UTC",
    "协调世界": "UTC",
    "格林尼治": "UTC",
    "UTC": "UTC",
    "GMT": "UTC",
}

# Ambiguous abbreviations, with two candidates each.
_ABBREVIATIONS: Final = {
    "CST": ("America/Chicago", "Asia/Shanghai"),
    "IST": ("Asia/Kolkata", "Europe/Dublin"),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "EST": ("America/New_York", "America/Panama"),
    "EDT": ("America/New_York", "America/Toronto"),
    "CDT": ("America/Chicago", "America/Havana"),
    "MST": ("America/Denver", "America/Phoenix"),
    "MDT": ("America/Denver", "America/Edmonton"),
    "PST": ("America/Los_Angeles", "Asia/Manila"),
    "PDT": ("America/Los_Angeles", "America/Vancouver"),
    "CET": ("Europe/Berlin", "Europe/Paris"),
    "CEST": ("Europe/Berlin", "Europe/Paris"),
    "AST": ("America/Halifax", "Asia/Riyadh"),
}


_AREAS: Final = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
# Old names of regions or directions.
_REGION_NAMES: Final = frozenset(
    f"Australia/{name}"
    for name in ("ACT", "LHI", "NSW", "North", "Queensland", "South", "Tasmania", "Victoria", "West", "Yancowinna")
)
# Regions and countries with one zone, as used before the word "time".
_COMMON_NAMES: Final = {
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "et": "America/New_York",
    "ct": "America/Chicago",
    "mt": "America/Denver",
    "pt": "America/Los_Angeles",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "hkt": "Asia/Hong_Kong",
    "sgt": "Asia/Singapore",
    "msk": "Europe/Moscow",
    "beijing": "Asia/Shanghai",
    "china": "Asia/Shanghai",
    "japan": "Asia/Tokyo",
    "korea": "Asia/Seoul",
    "india": "Asia/Kolkata",
    "uk": "Europe/London",
    "germany": "Europe/Berlin",
    "france": "Europe/Paris",
    "san_francisco": "America/Los_Angeles",
    "washington": "America/New_York",
    "boston": "America/New_York",
    "seattle": "America/Los_Angeles",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "osaka": "Asia/Tokyo",
    "shenzhen": "Asia/Shanghai",
    "guangzhou": "Asia/Shanghai",
}


@cache
def _zones_by_folded_name() -> dict[str, str]:
    return {name.casefold(): name for name in zone_names()}


@cache
def _zones_by_city() -> dict[str, str]:
    """City to zone; of two names for one place the newer one is used (not US/Pacific, Asia/Calcutta)."""
    zones: dict[str, str] = {}
    for name in sorted(zone_names(), reverse=True):
        area, _, city = name.rpartition("/")
        if area in _AREAS and name not in _REGION_NAMES:
            zones[city.casefold()] = name
    return zones | _COMMON_NAMES


def resolve_marked_zone(word: str, position: int) -> str:
    """Resolve a word that may be marked with @: then an exact name is tried first (@EST is the zone of that name)."""
    name = word.removeprefix("@")
    return name if word.startswith("@") and name in zone_names() else resolve_zone(name, position)


def resolve_zone(word: str, position: int | None) -> str:
    """Resolve a zone from its name in any case, or from a city; refuses unknown and ambiguous names."""
    chinese = CHINESE_CITIES.get(word.strip().removesuffix("时间"))
    if chinese is not None:
        return chinese
    folded = word.strip().replace(" ", "_").casefold()
    if folded in ("utc", "gmt", "z"):
        return "UTC"
    if folded.upper() in _ABBREVIATIONS:
        one, other = _ABBREVIATIONS[folded.upper()]
        raise refuse("ambiguous_zone", position, zone=word, one=one, other=other)
    zone = _zones_by_folded_name().get(folded) or _zones_by_city().get(folded)
    if zone is None and folded in ("reboot", "fortnightly", "every_minute", "startup"):
        raise refuse("unknown_alias", position, alias=f"@{word}", known=", ".join(ALIASES))
    if zone is None:
        raise refuse_unknown_zone(word, position)
    return zone


def looks_like_zone(word: str) -> bool:
    folded = word.casefold()
    return "/" in word or folded in ("utc", "gmt") or folded.upper() in _ABBREVIATIONS


def is_city(word: str) -> bool:
    return word.replace(" ", "_").casefold() in _zones_by_city()
