"""How families of rigs name the bones of a hand: pure tables, one JSON file a family, and one of words."""

from pathlib import Path

from .family import Family, Words, read_family, read_words

__all__ = ["FAMILIES", "WORDS", "Family", "Words"]

_HERE = Path(__file__).parent
_WORDS = _HERE / "words.json"

FAMILIES: tuple[Family, ...] = tuple(read_family(path) for path in sorted(_HERE.glob("*.json")) if path != _WORDS)
WORDS: Words = read_words(_WORDS)
