"""Every device that can be listened to, by the name that panel, shell and raw takes know it by."""

from .device import Device
from .transport import UdpListener
from .wires.landmarks import LandmarksParser, LandmarksSender
from .wires.quest import QuestParser, QuestSender
from .wires.rokoko import RokokoParser, RokokoSender
from .wires.vmc import VmcParser, VmcSender
from .wires.xsens import XsensParser, XsensSender

DEVICES: dict[str, Device] = {
    "vmc": Device(
        name="VMC protocol",
        about="VTuber and VR programs, and most that follow hands by a webcam",
        port=39539,
        connects=False,
        open=UdpListener,
        parser=VmcParser,
        sender=VmcSender,
    ),
    "rokoko": Device(
        name="Rokoko Studio",
        about="Rokoko's Smartgloves and suits, and Studio's recordings",
        port=14043,
        connects=False,
        open=UdpListener,
        parser=RokokoParser,
        sender=RokokoSender,
    ),
    "xsens": Device(
        name="Xsens MVN",
        about="Xsens MVN (Movella), with the fingers of Manus gloves or its own",
        port=9763,
        connects=False,
        open=UdpListener,
        parser=XsensParser,
        sender=XsensSender,
    ),
    "landmarks": Device(
        name="Camera landmarks",
        about="scripts and programs that send MediaPipe's world landmarks as JSON",
        port=9001,
        connects=False,
        open=UdpListener,
        parser=LandmarksParser,
        sender=LandmarksSender,
    ),
    "quest": Device(
        name="Quest Hand Tracking Streamer",
        about="Meta Quest headsets with the app Hand Tracking Streamer",
        port=9000,
        connects=False,
        open=UdpListener,
        parser=QuestParser,
        sender=QuestSender,
    ),
}
