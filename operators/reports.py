"""Reports of operators: in the status bar, the Info editor and the terminal that Blender was started from."""

import re
from typing import TYPE_CHECKING, Any

from ..errors import printable

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import WmReportItems

NAMED = re.compile(r"\w*_|[^:']*\.\w+\b[^:']*: ")
"""The start of a message that begins with the name of a file or of a recipe's setting, which keeps its case."""


def report_message(operator: Any, kind: "WmReportItems", message: str) -> None:
    """Report a message, which may quote a file or a packet: Blender passes it on to its terminal as it is."""
    operator.report({kind}, printable(sentence(message)))


def sentence(message: str) -> str:
    """Return a message with a large first letter, as Blender's reports have; names keep their own."""
    return message if NAMED.match(message) else f"{message[:1].upper()}{message[1:]}"
