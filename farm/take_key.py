"""The key of a take, a digest of its inputs. A take whose record has the same key need not be solved again."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import CaptureError

BLOCK = 2**20
"""Bytes that are read at a time."""


def take_key(inputs: Iterable[str], recipe: dict[str, Any], settings: Iterable[str]) -> str:
    """Return the key, as hexadecimal text.

    inputs: paths of the capture, the performer and the rig: their contents count, not their paths;
    recipe: as JSON, without the rig's path; settings: everything else that matters, such as Knuckle's version.

    Raises CaptureError for a file that cannot be read.
    """
    fields = {name: value for name, value in recipe.items() if name != "rig"}
    key = hashlib.sha256(json.dumps([fields, *settings], sort_keys=True).encode())
    for path in inputs:
        key.update(_digest(path))
    return key.hexdigest()


def _digest(path: str) -> bytes:
    if not path:
        return bytes(hashlib.sha256().digest_size)
    content = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while block := file.read(BLOCK):
                content.update(block)
    except FileNotFoundError:
        raise CaptureError(f"{Path(path).name}: no such file at {path}") from None
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    return content.digest()
