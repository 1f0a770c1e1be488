"""The names of the WebXR Hand Input module: Knuckle's own hand, and the generic hands of the WebXR input profiles."""

from ...hand.joints import JOINTS
from .family import Family, both

FAMILIES = (Family("WebXR", both("", ""), {joint: joint for joint in JOINTS}),)
