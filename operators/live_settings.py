"""Settings of live solving: properties of the scene."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..capture.devices.device_table import DEVICES
from ..capture.network.transport import LOCAL, Address
from ..rig.binding import is_armature
from .setting_properties import FIXED, drive

if TYPE_CHECKING:
    from bpy.types import Object


def _is_target(_person: Any, obj: "Object") -> bool:
    return is_armature(obj)


def _usual_port(settings: "KnuckleLive", _context: Any) -> None:
    settings.port = DEVICES[settings.device].port


class KnucklePerson(bpy.types.PropertyGroup):
    """A performer and what their hands drive. `name` is the performer's, empty if the device sends none."""

    armature: PointerProperty(
        name="Armature",
        description="What this performer's hands drive; empty for new hands, or for the first one what is chosen",
        type=bpy.types.Object,
        poll=_is_target,
    )


class KnuckleTake(bpy.types.PropertyGroup):
    """A recorded take. `name` is the file name of its raw take."""

    filepath: StringProperty(name="File", description="The raw take", subtype="FILE_PATH")
    seconds: FloatProperty(name="Length", description="Of what was shown", subtype="TIME_ABSOLUTE")
    timecode: StringProperty(name="Timecode", description="Of its first frame, where the device sends one")


class KnuckleLive(bpy.types.PropertyGroup):
    """The device, its address, and what its hands drive and record."""

    device: EnumProperty(
        name="Device",
        description="What sends the hands",
        items=[(key, device.name, f"{device.about[0].upper()}{device.about[1:]}") for key, device in DEVICES.items()],
        update=_usual_port,
        options=FIXED,
    )
    host: StringProperty(
        name="Address",
        description="Of this machine, to listen on (127.0.0.1 for programs on this machine, 0.0.0.0 for other machines "
        "and headsets too), or of the program that is connected to",
        default=LOCAL,
        options=FIXED,
    )
    port: IntProperty(
        name="Port",
        description="As set in the sender",
        default=next(iter(DEVICES.values())).port,
        min=1,
        max=65535,
        options=FIXED,
    )
    drive: drive()
    people: CollectionProperty(
        type=KnucklePerson, name="Performers", description="Performers whose hands drive armatures of their own"
    )
    takes: CollectionProperty(type=KnuckleTake, name="Takes", description="What was recorded")
    take: IntProperty(name="Take", description="The take that is chosen in the list", options=FIXED)
    put_back: BoolProperty(
        name="Put Back at the End",
        description="When it ends, bones stand again as they did before",
        default=True,
        options=FIXED,
    )
    take_name: StringProperty(
        name="Take Name", description="What takes are called, before their number", default="Take", options=FIXED
    )
    folder: StringProperty(
        name="Folder",
        description="Where raw takes go; empty for the folder of the file, or Knuckle's own",
        subtype="DIR_PATH",
        options=FIXED,
    )
    pre_roll: FloatProperty(
        name="Pre-Roll",
        description="A raw take begins with what came this long before Record was pressed",
        default=2.0,
        min=0.0,
        max=60.0,
        subtype="TIME_ABSOLUTE",
        options=FIXED,
    )


def address_of(settings: Any) -> Address:
    """Return the device's address."""
    return Address(settings.host.strip(), settings.port)


CLASSES = (
    KnucklePerson,
    KnuckleTake,
    KnuckleLive,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_live", bpy.props.PointerProperty(type=KnuckleLive)),)
