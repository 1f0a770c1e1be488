"""The table of supported devices, by the key that the panel, the shell and raw takes use."""

from ..network.natnet_connection import NatnetClient
from ..network.qtm_connection import QtmClient
from ..network.tcp import LineListener
from ..network.transport import UdpListener
from ..network.websocket import WebSocketClient, WebSocketListener
from ..protocols import camera_page, leap_service, webxr_stream
from ..protocols.camera_stream import CameraParser, CameraSender
from ..protocols.landmark_stream import LandmarksParser, LandmarksSender
from ..protocols.natnet import NatnetParser, NatnetSender
from ..protocols.qualisys_realtime import QualisysParser, QualisysSender
from ..protocols.quest import QuestParser, QuestSender, QuestTcpSender
from ..protocols.rokoko import RokokoParser, RokokoSender
from ..protocols.vmc import VmcParser, VmcSender
from ..protocols.xsens import XsensParser, XsensSender
from .device import Device

DEVICES: dict[str, Device] = {
    "vmc": Device(
        name="VMC Protocol",
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
    "natnet": Device(
        name="OptiTrack NatNet",
        about="OptiTrack's Motive: skeletons with fingers, else markers by their names",
        port=1510,
        connects=True,
        open=NatnetClient,
        parser=NatnetParser,
        sender=NatnetSender,
    ),
    "qualisys": Device(
        name="Qualisys",
        about="Qualisys Track Manager: skeletons with fingers, else markers by their labels",
        port=22223,
        connects=True,
        open=QtmClient,
        parser=QualisysParser,
        sender=QualisysSender,
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
    "camera": Device(
        name="Camera",
        about="a webcam, or a video file, on a page that Knuckle opens in your browser",
        port=8766,
        connects=False,
        open=lambda address: WebSocketListener(address, camera_page.site()),
        parser=CameraParser,
        sender=CameraSender,
        serves_page=True,
        opens_page=True,
    ),
    "landmarks": Device(
        name="Camera Landmarks",
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
    "quest-tcp": Device(
        name="Quest Hand Tracking Streamer, TCP",
        about="the same app where it is set to TCP",
        port=8000,
        connects=False,
        open=LineListener,
        parser=QuestParser,
        sender=QuestTcpSender,
    ),
    "webxr": Device(
        name="WebXR Page",
        about="any headset's browser, on a page that Knuckle serves",
        port=8765,
        connects=False,
        open=lambda address: WebSocketListener(address, webxr_stream.SITE),
        parser=webxr_stream.WebxrParser,
        sender=webxr_stream.WebxrSender,
        serves_page=True,
    ),
    "leap": Device(
        name="Leap",
        about="Ultraleap and Leap Motion, by the service's WebSocket",
        port=6437,
        connects=True,
        open=lambda address: WebSocketClient(address, leap_service.PATH, leap_service.GREETINGS),
        parser=leap_service.LeapParser,
        sender=leap_service.LeapSender,
    ),
}
