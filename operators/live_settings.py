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
from .preferences import port_setting, preferences
from .setting_properties import NOT_ANIMATED, angles_property

if TYPE_CHECKING:
    from bpy.types import Object


def _is_target(_person: Any, obj: "Object") -> bool:
    return is_armature(obj)


def _usual_port(settings: "KnuckleLive", _context: Any) -> None:
    settings.port = getattr(preferences(), port_setting(settings.device))


class KnucklePerson(bpy.types.PropertyGroup):
    """A performer, and the armature that their hands drive. `name` is empty if the device sends none."""

    armature: PointerProperty(
        name="Armature",
        description="Target armature of this performer. If empty, new hands are added; for the first performer, "
        "the target above is used",
        type=bpy.types.Object,
        poll=_is_target,
    )


class KnuckleTake(bpy.types.PropertyGroup):
    """A recorded take. `name` is the file name of its raw take."""

    filepath: StringProperty(name="File", description="The raw take", subtype="FILE_PATH")
    seconds: FloatProperty(name="Length", description="Length of the displayed motion", subtype="TIME_ABSOLUTE")
    timecode: StringProperty(name="Timecode", description="Timecode of the first frame, if the device sends one")


class KnuckleLive(bpy.types.PropertyGroup):
    """The device and its address, the armatures that its hands drive, and recording."""

    device: EnumProperty(
        name="Device",
        description="Device or program that sends the hands",
        items=[(key, device.name, f"{device.about[0].upper()}{device.about[1:]}") for key, device in DEVICES.items()],
        update=_usual_port,
        options=NOT_ANIMATED,
    )
    host: StringProperty(
        name="Address",
        description="Address to listen on (127.0.0.1 for programs on this computer, 0.0.0.0 also for other computers "
        "and headsets), or address of the program to connect to",
        default=LOCAL,
        options=NOT_ANIMATED,
    )
    port: IntProperty(
        name="Port",
        description="Port, as set in the sending program",
        default=next(iter(DEVICES.values())).port,
        min=1,
        max=65535,
        options=NOT_ANIMATED,
    )
    page_names: StringProperty(
        name="Host Names",
        description="Host names by which the headset's browser opens the page; separate several by spaces. "
        "IP addresses and localhost are always allowed, other names are refused",
        options=NOT_ANIMATED,
    )
    angles: angles_property()
    people: CollectionProperty(
        type=KnucklePerson, name="Performers", description="Performers whose hands drive armatures of their own"
    )
    takes: CollectionProperty(type=KnuckleTake, name="Takes", description="Recorded takes")
    take: IntProperty(name="Take", description="The selected take of the list", options=NOT_ANIMATED)
    put_back: BoolProperty(
        name="Restore Pose on Stop",
        description="Restore the pose that the bones had on Start",
        default=True,
        options=NOT_ANIMATED,
    )
    take_name: StringProperty(
        name="Take Name",
        description="Name of new takes, to which a number is appended",
        default="Take",
        options=NOT_ANIMATED,
    )
    folder: StringProperty(
        name="Folder",
        description="For raw takes. If empty, that of the preferences or blend file, or Knuckle Takes in Documents",
        subtype="DIR_PATH",
        options=NOT_ANIMATED,
    )
    pre_roll: FloatProperty(
        name="Pre-Roll",
        description="Length of motion before Record was pressed that a raw take includes",
        default=2.0,
        min=0.0,
        max=60.0,
        subtype="TIME_ABSOLUTE",
        options=NOT_ANIMATED,
    )


def address_of(settings: Any) -> Address:
    """Return the device's address."""
    return Address(settings.host.strip(), settings.port, tuple(settings.page_names.replace(",", " ").split()))


CLASSES = (
    KnucklePerson,
    KnuckleTake,
    KnuckleLive,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_live", bpy.props.PointerProperty(type=KnuckleLive)),)
