"""Operators of live solving: start, stop, recentre, measure again, forget a performer."""

from typing import TYPE_CHECKING

import bpy

from ..capture.devices.device_table import DEVICES
from ..capture.network.transport import ANY, LOCAL, Address
from ..errors import KnuckleError
from ..rig.armature_hands import find_hands
from ..rig.binding import is_armature
from ..rig.data_reference import DataReference
from ..rig.keys.drive import check_drive
from ..rig.keys.keyframes import check_keyable
from .live_device import WhileFollowing, begin, end, people_of, redraw
from .live_loop import EndedTake, LiveRun, LiveSetup
from .live_settings import address_of
from .live_takes import KeyingOperator
from .online_access import check_online_access
from .reports import report_message
from .scene_recipe import recipe_for
from .session import SESSION
from .solve_take import target

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


def setup_of(context: "Context") -> LiveSetup:
    """Build the setup from the scene's settings. Raises KnuckleError for an armature without a hand to pose, or an
    address beyond this computer without online access."""
    live_settings = context.scene.knuckle_live
    check_online_access(address_of(live_settings))
    armature, recipe = target(context), recipe_for(context.scene, live_settings.device)
    for driven_armature in filter(None, [armature, *(person.armature for person in live_settings.people)]):
        check_keyable(driven_armature)
        check_drive(driven_armature, find_hands(driven_armature, ()), recipe.drive)
    return LiveSetup(
        device=live_settings.device,
        address=address_of(live_settings),
        recipe=recipe,
        angles=live_settings.angles,
        pre_roll=live_settings.pre_roll,
        armature=DataReference.of(armature) if armature else None,
        people=people_of(live_settings),
    )


class KNUCKLE_OT_live_start(bpy.types.Operator):
    """Connect to the device: the target's hands move with the performer's, without keyframes"""

    bl_idname = "knuckle.live_start"
    bl_label = "Start"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if no device is running, and an armature is chosen if one is to be driven."""
        settings = context.scene.knuckle
        if SESSION.live.run is not None:
            cls.poll_message_set("A device is followed already, stop that first")
        elif settings.rig == "ARMATURE" and not is_armature(settings.armature):
            cls.poll_message_set("Choose a target armature, or a new hand")
        else:
            return True
        return False

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Connect to the device and start the timer."""
        try:
            setup = setup_of(context)
            begin(LiveRun(setup, context.scene, SESSION.live.device_transforms.setdefault(setup.device, {})))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        if self.options.is_invoke and DEVICES[setup.device].opens_page:
            bpy.ops.wm.url_open(url=page_url(setup.address))
        return {"FINISHED"}


def page_url(address: Address) -> str:
    """Return the URL at which a browser on this computer opens the page of a device with this address."""
    host = LOCAL if address.host == ANY else address.host
    return f"http://{host}:{address.port}/"


class KNUCKLE_OT_live_stop(WhileFollowing, KeyingOperator, bpy.types.Operator):
    """Disconnect from the device, and key the take that is being recorded"""

    bl_idname = "knuckle.live_stop"
    bl_label = "Stop"
    bl_options = {"UNDO"}

    def end(self, context: "Context") -> EndedTake | None:
        """Disconnect, and restore the bones if the settings say so."""
        take = end()
        redraw("WINDOW")
        redraw("UI")
        return take


class KNUCKLE_OT_live_recentre(WhileFollowing, bpy.types.Operator):
    """Align the performer's hands, as they are now, with the target's hands at rest. Rotates about the vertical only"""

    bl_idname = "knuckle.live_recentre"
    bl_label = "Recenter"

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Recentre from the next frame on."""
        assert SESSION.live.run is not None
        SESSION.live.run.recentre()
        return {"FINISHED"}


class KNUCKLE_OT_live_measure(WhileFollowing, bpy.types.Operator):
    """Measure the performer's hands again during the next second"""

    bl_idname = "knuckle.live_measure"
    bl_label = "Measure Again"

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Measure on the frames of the next second."""
        assert SESSION.live.run is not None
        SESSION.live.run.session.measure_again()
        return {"FINISHED"}


class KNUCKLE_OT_live_follow_sender(WhileFollowing, bpy.types.Operator):
    """Follow this sender instead, and ignore the one that has been followed"""

    bl_idname = "knuckle.live_follow_sender"
    bl_label = "Follow Sender"

    sender: bpy.props.StringProperty(name="Sender", description="IP address", options={"SKIP_SAVE", "HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read this sender's packets only, from now on."""
        assert SESSION.live.run is not None
        SESSION.live.run.receiver.senders.follow(self.sender)
        return {"FINISHED"}


class KNUCKLE_OT_live_forget_performer(bpy.types.Operator):
    """Remove this performer from the list"""

    bl_idname = "knuckle.live_forget_performer"
    bl_label = "Remove Performer"
    bl_options = {"UNDO"}

    performer: bpy.props.StringProperty(name="Performer", options={"SKIP_SAVE", "HIDDEN"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available while no device is running, since performers that are seen get a row again."""
        if SESSION.live.run is not None:
            cls.poll_message_set("Stop first: each performer of the device is listed")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Remove the performer's row."""
        people = context.scene.knuckle_live.people
        row = people.find(self.performer)
        if row < 0:
            return {"CANCELLED"}
        people.remove(row)
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_live_start,
    KNUCKLE_OT_live_stop,
    KNUCKLE_OT_live_recentre,
    KNUCKLE_OT_live_measure,
    KNUCKLE_OT_live_follow_sender,
    KNUCKLE_OT_live_forget_performer,
)
