"""Encryption of stored secrets: authenticated encryption that binds each value to its owner and name.

cipher         AES-256-GCM with one key          key_file       key in a file, created once, rotated in place
key_location   which key a deployment uses
"""

from __future__ import annotations

from .cipher import Cipher, Key
from .key_file import KeyFile
from .key_location import make_cipher

__all__ = ["Cipher", "Key", "KeyFile", "make_cipher"]
