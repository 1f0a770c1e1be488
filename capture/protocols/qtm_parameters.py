"""Qualisys Track Manager's parameters: the names of markers and skeletons, read from a few elements of the XML.

    <QTM_Parameters_Ver_1.25>
      <The_3D><AxisUpwards>+Z</AxisUpwards> … <Label><Name>LIndexTip</Name> … </Label> … </The_3D>
      <Skeletons><Skeleton Name="Anna"><Segments>
        <Segment Name="LeftHand" ID="12"> … <Endpoint X="0" Y="0" Z="0"/> … <Segment …> … </Segment></Segment>

Before version 1.21 segments are not nested. Documents with a type definition, and so with entities, are rejected.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ..frame import safe_label
from .finite_numbers import finite_float

Floats = NDArray[np.float64]

MAX_ITEMS = 4096
"""Maximum number of labels, skeletons and segments in total."""
MAX_DEPTH = 64
"""Maximum number of levels of nested elements; a finger's last segment is about 15 deep."""
MAX_NAME_LENGTH = 256
"""Maximum number of characters of a name; the rest is dropped."""
PIECE = 16_384
"""Number of bytes parsed at a time."""
MAX_TAG_SIZE = 65_536
"""Maximum bytes of a tag with its attributes, or of a comment, which the parser handles at once. The limit is exact to
within two pieces."""
UPWARDS = {"+X": "x", "-X": "-x", "+Y": "y", "-Y": "-y", "+Z": "z", "-Z": "-z"}
"""QTM's name of an axis -> its name in conventions.to_z_up."""


@dataclass(slots=True, eq=False)
class Segment:
    """A bone of a skeleton."""

    name: str
    id: int
    """Its id in QTM's frames."""
    end: Floats | None = None
    """(3,) position of its end in mm, in the segment's coordinate frame; None if not given."""


@dataclass(slots=True, eq=False)
class QtmSkeleton:
    """A performer's skeleton."""

    name: str
    segments: list[Segment] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class QtmParameters:
    """The parameters in a document; None if a section is missing."""

    labels: list[str] | None = None
    """Labels of the markers, in order."""
    up: str = ""
    """The axis that points up, as in conventions.to_z_up; empty if not given."""
    skeletons: list[QtmSkeleton] | None = None


def parse_parameters(text: bytes) -> QtmParameters:
    """Parse the XML of the parameters. Raises PacketError if it is malformed, too large, or has a type definition."""
    handlers = _Handlers()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = handlers.start
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.text
    parser.StartDoctypeDeclHandler = handlers.reject_doctype
    content = text.decode("utf-8", "replace").encode()
    try:
        # Piece by piece, since Blender's main thread cannot run while the parser does.
        last_event = 0
        for start in range(0, len(content), PIECE):
            handlers.events = 0
            parser.Parse(content[start : start + PIECE], False)
            last_event = start if handlers.events else last_event
            if start - last_event >= MAX_TAG_SIZE:
                raise PacketError(f"QTM's parameters have a tag of over {MAX_TAG_SIZE} bytes")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise PacketError(f"QTM's parameters cannot be parsed as XML ({error})") from None
    return handlers.parameters


class _Handlers:
    """Handlers and state of the XML parser."""

    def __init__(self) -> None:
        self.parameters = QtmParameters()
        self._path: list[str] = []
        self._segments: list[Segment] = []
        """The segments that are open, outermost first."""
        self._text = ""
        self._item_count = 0
        self.events = 0
        """Number of tags and texts since it was last reset to 0."""

    def reject_doctype(self, *_: object) -> None:
        raise PacketError("QTM's parameters come with a type definition, which QTM does not send")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.events += 1
        self._path.append(name)
        self._text = ""
        if len(self._path) > MAX_DEPTH:
            raise PacketError(f"QTM's parameters are nested deeper than {MAX_DEPTH} elements")
        if name == "The_3D":
            self.parameters.labels = []
        elif name == "Skeletons":
            self.parameters.skeletons = []
        elif name == "Skeleton" and self.parameters.skeletons is not None:
            self._count_item()
            self.parameters.skeletons.append(QtmSkeleton(safe_label(attributes.get("Name", ""), MAX_NAME_LENGTH)))
        elif name == "Segment" and self.parameters.skeletons:
            self._count_item()
            segment_id = int(finite_float(attributes.get("ID", ""), "a segment's ID"))
            self._segments.append(Segment(safe_label(attributes.get("Name", ""), MAX_NAME_LENGTH), segment_id))
            self.parameters.skeletons[-1].segments.append(self._segments[-1])
        elif name == "Endpoint" and self._segments:
            self._segments[-1].end = np.array(
                [finite_float(attributes.get(axis, ""), "an end point") for axis in "XYZ"]
            )

    def end(self, name: str) -> None:
        self.events += 1
        self._path.pop()
        if name == "Segment" and self._segments:
            self._segments.pop()
        elif name == "Name" and self._path[-1:] == ["Label"] and self.parameters.labels is not None:
            self._count_item()
            self.parameters.labels.append(safe_label(self._text, MAX_NAME_LENGTH))
        elif name == "AxisUpwards":
            self.parameters.up = UPWARDS.get(self._text.strip(), "")

    def text(self, piece: str) -> None:
        self.events += 1
        if len(self._text) < MAX_NAME_LENGTH:
            self._text += piece[:MAX_NAME_LENGTH]

    def _count_item(self) -> None:
        self._item_count += 1
        if self._item_count > MAX_ITEMS:
            raise PacketError(f"QTM's parameters have more than {MAX_ITEMS} markers and segments")
