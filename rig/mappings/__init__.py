"""Tables of bone names: one JSON file for each family of rigs, and one of words."""

from pathlib import Path

from .family import BoneNaming, NameWords, read_family, read_words

__all__ = ["FAMILIES", "WORDS", "BoneNaming", "NameWords"]

_HERE = Path(__file__).parent
_WORDS = _HERE / "words.json"

FAMILIES: tuple[BoneNaming, ...] = tuple(read_family(path) for path in sorted(_HERE.glob("*.json")) if path != _WORDS)
WORDS: NameWords = read_words(_WORDS)
