"""Sealing: values that are kept where others may read are unreadable without a key, and useless in another place.

cipher     one key, and what it seals        key_file   the key in a file of its own, made once, rotated in place
place      which key a deployment uses
"""

from __future__ import annotations

from .cipher import Key, Sealing
from .key_file import KeyFile
from .key_location import sealing_for

__all__ = ["Key", "KeyFile", "Sealing", "sealing_for"]
