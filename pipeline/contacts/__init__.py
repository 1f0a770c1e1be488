"""What of a hand touches what: digits of the hand that is keyed are kept apart."""

from .touching import touch

__all__ = ["touch"]
