"""Encryption of stored secrets: authenticated encryption that binds each value to its owner and name.

cipher         AES-256-GCM with one key          key_file       key in a file, created once, rotated in place
key_location   which key a deployment uses
"""

from __future__ import annotations

from .cipher import Key, Sealing
from .key_file import KeyFile
from .key_location import sealing_for

__all__ = ["Key", "KeyFile", "Sealing", "sealing_for"]
