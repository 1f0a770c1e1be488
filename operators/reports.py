"""What operators tell the person: in the status bar, the Info editor and the terminal that Blender was started from."""

from typing import TYPE_CHECKING, Any

from ..errors import printable

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import WmReportItems


def tell(operator: Any, kind: "WmReportItems", message: str) -> None:
    """Report a message, which may quote a file or a packet: Blender passes it on to its terminal as it is."""
    operator.report({kind}, printable(message))
