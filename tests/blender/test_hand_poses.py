"""The named poses on the skin of Knuckle's hand and on the bones of rigs."""

from itertools import permutations

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree

from knuckle.hand import poses, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.rig.detect import find_hands
from knuckle.rig.hand_poses import apply_pose
from knuckle.rig.held import take
from knuckle.rig.take_scene import new_hand

TOUCH: dict[str, tuple[str, ...]] = {
    "fist": ("thumb index", "thumb middle"),
    "point": ("thumb middle",),
    "victory": ("thumb ring",),
    "ok": ("thumb index",),
    "pinch": ("thumb index",),
    "grip-key": ("thumb index",),
    "letter-a": ("thumb index",),
    "letter-d": ("thumb middle",),
    "letter-e": ("thumb index", "thumb middle"),
    "letter-f": ("thumb index",),
    "letter-i": ("thumb index", "thumb middle"),
    "letter-o": ("thumb index",),
    "letter-u": ("thumb ring", "index middle"),
    "letter-w": ("thumb pinky",),
    "letter-x": ("thumb middle",),
}
"""Pose -> digits that lie on each other in it."""

THICK = 0.012
"""m, no digit is thicker to its middle: what is further behind its skin stands before its open end."""


class Skin:
    """The skin of Knuckle's right hand, digit by digit."""

    def __init__(self) -> None:
        measures = proportions.adult("right")
        self.armature, _ = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
        self.mesh = self.armature.children[0]
        joints = [group.name for group in self.mesh.vertex_groups]
        carrier = [joints[max(v.groups, key=lambda g: g.weight).group] for v in self.mesh.data.vertices]
        chains = {digit.split("-")[0]: CHAIN_JOINTS[digit] for digit in DIGITS}
        tubes = {name: set(chain if name != "thumb" else chain[1:]) for name, chain in chains.items()}
        faces = [list(polygon.vertices) for polygon in self.mesh.data.polygons]
        self.faces = {
            name: [face for face in faces if all(carrier[v] in tube for v in face)] for name, tube in tubes.items()
        }
        # A digit's outer two phalanges: where two fingers begin, webs of skin join them.
        self.outer = {
            name: [v for v, joint in enumerate(carrier) if joint in chain[-3:]] for name, chain in chains.items()
        }

    def deepest(self, one: str, other: str) -> float:
        """mm, how deep the outer phalanges of a digit are in another digit; below zero outside of it."""
        bpy.context.view_layer.update()
        evaluated = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points = [v.co.copy() for v in evaluated.data.vertices]
        tree = BVHTree.FromPolygons(points, self.faces[other])
        deepest = -np.inf
        for v in self.outer[one]:
            place, normal, _, away = tree.find_nearest(points[v])
            inside = away < THICK and (points[v] - place).dot(normal) < -0.5 * away
            deepest = max(deepest, away if inside else -away)
        return 1000 * deepest


def test_nothing_goes_through_anything_and_what_touches_lies_on() -> None:
    skin = Skin()
    (found,) = find_hands(skin.armature)
    held = take(skin.armature, found)
    for name in poses.POSES:
        apply_pose(held, name)
        pairs = permutations(skin.faces, 2)
        deep = {f"{one} {other}": skin.deepest(one, other) for one, other in pairs}
        worst = max(deep, key=lambda pair: deep[pair])
        assert deep[worst] < 1.3, f"{name}: {deep[worst]:.2f} mm, {worst}"
        for pair in TOUCH.get(name, ()):
            gap = -max(deep[pair], deep[" ".join(reversed(pair.split()))])
            assert gap < 0.5, f"{name}: {gap:.2f} mm between {pair}"
