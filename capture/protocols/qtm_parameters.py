"""Qualisys Track Manager's parameters: names of markers and skeletons from XML, of which a few elements are read.

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
from ..frame import label
from .finite_numbers import real

Floats = NDArray[np.float64]

MOST_THINGS = 4096
"""Most labels, skeletons and segments together."""
DEEPEST = 64
"""Most levels of nested elements; a finger's last segment is about 15 deep."""
LONGEST_NAME = 256
UPWARDS = {"+X": "x", "-X": "-x", "+Y": "y", "-Y": "-y", "+Z": "z", "-Z": "-z"}
"""QTM's name of the axis that points up -> that of conventions.to_z_up."""


@dataclass(slots=True, eq=False)
class Segment:
    """A bone of a skeleton."""

    name: str
    own: int
    """Its id in frames."""
    end: Floats | None = None
    """(3,) its end in mm, in its own frame; None if not given."""


@dataclass(slots=True, eq=False)
class Skeleton:
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
    skeletons: list[Skeleton] | None = None


def parameters_of(text: bytes) -> QtmParameters:
    """Parse the XML of the parameters. Raises PacketError if it is malformed, too large, or has a type definition."""
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reading.begin
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    parser.StartDoctypeDeclHandler = reading.refuse
    try:
        parser.Parse(text.decode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise PacketError(f"QTM's parameters are no XML that is understood ({error})") from None
    return reading.found


class _Reading:
    """Handlers and state of the XML parser."""

    def __init__(self) -> None:
        self.found = QtmParameters()
        self._path: list[str] = []
        self._segments: list[Segment] = []
        """The segments that are open, outermost first."""
        self._text = ""
        self._things = 0

    def refuse(self, *_: object) -> None:
        raise PacketError("QTM's parameters come with a type definition, which QTM does not send")

    def begin(self, name: str, said: dict[str, str]) -> None:
        self._path.append(name)
        self._text = ""
        if len(self._path) > DEEPEST:
            raise PacketError(f"QTM's parameters are nested deeper than {DEEPEST} elements")
        if name == "The_3D":
            self.found.labels = []
        elif name == "Skeletons":
            self.found.skeletons = []
        elif name == "Skeleton" and self.found.skeletons is not None:
            self._count()
            self.found.skeletons.append(Skeleton(label(said.get("Name", ""), LONGEST_NAME)))
        elif name == "Segment" and self.found.skeletons:
            self._count()
            own = int(real(said.get("ID", ""), "a segment's ID"))
            self._segments.append(Segment(label(said.get("Name", ""), LONGEST_NAME), own))
            self.found.skeletons[-1].segments.append(self._segments[-1])
        elif name == "Endpoint" and self._segments:
            self._segments[-1].end = np.array([real(said.get(axis, ""), "an end point") for axis in "XYZ"])

    def end(self, name: str) -> None:
        self._path.pop()
        if name == "Segment" and self._segments:
            self._segments.pop()
        elif name == "Name" and self._path[-1:] == ["Label"] and self.found.labels is not None:
            self._count()
            self.found.labels.append(label(self._text, LONGEST_NAME))
        elif name == "AxisUpwards":
            self.found.up = UPWARDS.get(self._text.strip(), "")

    def text(self, piece: str) -> None:
        if len(self._text) < LONGEST_NAME:
            self._text += piece[:LONGEST_NAME]

    def _count(self) -> None:
        self._things += 1
        if self._things > MOST_THINGS:
            raise PacketError(f"QTM's parameters tell of more than {MOST_THINGS} markers and segments")
