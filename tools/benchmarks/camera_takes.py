"""Videos of hands whose joints are known: pictures rendered by Blender, and every joint in the camera's space.

The hands and motions are those of skin_hands.py and skin_motions.py: Knuckle's and MakeHuman's skin in six proportions,
moved by what a headset, an optical glove, a Leap and a performer with skin markers did, and Knuckle's 27 named poses
one after the other. Made once, kept in build/camera-videos. The camera's space is X right, Y down, Z away, in m.
"""

import json
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray
from skin_hands import SkinnedHand, hands
from skin_made import build_armature, build_skin
from skin_motions import RATE, cached, wandering
from skin_takes import ROOT

from knuckle.hand import poses
from knuckle.hand.joints import JOINTS
from knuckle.hand.kinematics import joint_rotations
from knuckle.hand.proportions import adult, build
from knuckle.hand.rotations import to_matrix

Floats = NDArray[np.float64]

BUILD = ROOT / "build" / "camera-videos"
WIDTH, HEIGHT, ANGLE_OF_VIEW = 640, 480, 60.0
"""Pixels, and degrees across the picture's longer side."""
STEP = 3
"""The motions have 100 frames a second, the videos a third of them."""
DISTANCE = 0.5
"""m from the camera to the middle of the hand."""
SHIFT, TURN = 0.35, 0.7
"""Fractions of a motion's translation and rotation that the wrist keeps, so that the hand stays in the picture."""
POSE_FRAMES = 33
"""Frames of 100 Hz from one named pose to the next, half of them at rest."""
BLUR = 4
"""Number of pictures within the shutter's time whose mean is a blurred picture."""
SKINS = {"light": (0.74, 0.47, 0.37), "medium": (0.42, 0.22, 0.14), "dark": (0.13, 0.065, 0.042)}
"""Linear RGB."""


@dataclass(frozen=True, slots=True)
class View:
    """View of the hand: rotations in degrees of a hand that points up with its palm to the camera."""

    about_fingers: float = 0.0
    towards_camera: float = 0.0
    """Pitch of the fingers to the camera; 90 points at it."""
    in_picture: float = 0.0


VIEWS = {
    "palm": View(),
    "back": View(about_fingers=180.0),
    "three-quarter": View(about_fingers=45.0, in_picture=20.0),
    "thumb side": View(about_fingers=80.0),
    "pointing at the camera": View(about_fingers=160.0, towards_camera=60.0),
    "lying": View(about_fingers=-30.0, in_picture=70.0),
}


@dataclass(frozen=True, slots=True)
class Video:
    """One rendered take."""

    hand: int
    """Index in skin_hands.hands(): Knuckle's right hands, then MakeHuman's left ones."""
    motion: str
    view: str
    background: str = "plain"
    skin: str = "light"
    blurred: bool = False
    tunes: bool = False
    """Whether offsets and weights were tuned on it; other videos are only for testing."""

    @property
    def name(self) -> str:
        """File name."""
        return f"{self.hand:02d}-{self.motion}-{self.view.replace(' ', '-')}"


VIDEOS = (
    Video(0, "range", "palm", tunes=True),
    Video(1, "range", "back", "busy", tunes=True),
    Video(3, "range", "three-quarter", skin="dark", tunes=True),
    Video(6, "range", "palm", "busy", tunes=True),
    Video(7, "range", "back", tunes=True),
    Video(9, "range", "thumb side", tunes=True),
    Video(2, "glove", "palm", "busy"),
    Video(4, "headset", "three-quarter"),
    Video(8, "headset", "palm", "busy", skin="dark"),
    Video(10, "Leap", "lying"),
    Video(5, "skin", "back", "busy"),
    Video(11, "poses", "palm"),
    Video(2, "poses", "back", "busy", skin="dark"),
    Video(8, "glove", "pointing at the camera"),
    Video(4, "skin", "thumb side", "busy", blurred=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True joints and angles of F frames."""

    times: Floats
    """(F,) s"""
    joints: Floats
    """(F, 25, 4, 4) T_camera_joint, m."""
    angles: Floats
    """(F, 26) rad, as an anatomist counts."""


@cache
def motions() -> dict[str, tuple[Floats, Floats]]:
    """Return name -> angles (N, 26) rad and roots (N, 4, 4) at 100 Hz."""
    return cached(ROOT / "build" / "skin") | {"poses": _named_poses()}


def _named_poses() -> tuple[Floats, Floats]:
    """Return a motion that holds each named pose, then moves to the next in minimum jerk."""
    hand = build(adult("right"))
    stops = np.stack([poses.angles(hand, name) for name in poses.POSES])
    part = np.clip(np.arange(POSE_FRAMES) / POSE_FRAMES * 2 - 1, 0, 1)
    eased = (part**3 * (10 - 15 * part + 6 * part**2))[:, None]
    angles = np.concatenate([a + eased * (b - a) for a, b in pairwise(stops)])
    roots = wandering(9)
    there_and_back = np.concatenate([np.arange(len(roots)), np.arange(len(roots))[::-1]])
    return angles, roots[there_and_back[np.arange(len(angles)) % len(there_and_back)]]


def roots_in_camera(video: Video, hand: SkinnedHand, roots: Floats) -> Floats:
    """Return T_camera_wrist (F, 4, 4) of a video."""
    return roots_in_view(VIEWS[video.view], hand, roots)


def roots_in_view(view: View, hand: SkinnedHand, roots: Floats) -> Floats:
    """Return T_camera_wrist (F, 4, 4) of a wrist that moves like the roots."""
    left = hand.model.side == "left"
    sign = -1.0 if left else 1.0
    # A hand's +Y (fingers) is up in the picture and its +Z (back) away from the camera.
    upright = np.array([[-1.0, 0, 0], [0, -1, 0], [0, 0, 1]])
    about = [_turn(1, sign * view.about_fingers), _turn(0, -view.towards_camera), _turn(2, sign * view.in_picture)]
    base = about[2] @ about[1] @ upright @ about[0]
    result = np.tile(np.eye(4), (len(roots), 1, 1))
    middle = np.array([0.0, 0.08, 0.0])
    for frame, root in enumerate(roots):
        axis, angle = _axis_angle(root[:3, :3] @ roots[len(roots) // 2, :3, :3].T)
        rotation = _rotation(axis, TURN * angle) @ base
        result[frame, :3, :3] = rotation
        shift = SHIFT * (root[:3, 3] - roots[:, :3, 3].mean(0))
        result[frame, :3, 3] = shift + [0, 0, DISTANCE] - rotation @ middle
    return result


def _turn(axis: int, degrees: float) -> Floats:
    return _rotation(np.eye(3)[axis], np.deg2rad(degrees))


def _rotation(axis: Floats, angle: float) -> Floats:
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def _axis_angle(rotation: Floats) -> tuple[Floats, float]:
    skew = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    sine = np.linalg.norm(skew) / 2
    return skew / max(2 * sine, 1e-12), float(np.arctan2(sine, (np.trace(rotation) - 1) / 2))


def busy_background(seed: int = 7) -> Floats:
    """Return a generated picture (HEIGHT, WIDTH, 3) of a room's clutter: rectangles, discs and stripes of many colours,
    and grain."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    picture = np.full((HEIGHT, WIDTH, 3), 0.5)
    for _ in range(120):
        colour, (cx, cy) = random.uniform(0.05, 0.95, 3), random.uniform(0, 1, 2) * [WIDTH, HEIGHT]
        a, b, rotation = *random.uniform(8, 90, 2), random.uniform(0, np.pi)
        u, v = (
            (x - cx) * np.cos(rotation) + (y - cy) * np.sin(rotation),
            (y - cy) * np.cos(rotation) - (x - cx) * np.sin(rotation),
        )
        kind = random.integers(3)
        inside = (np.abs(u) < a) & (np.abs(v) < b) if kind else (u / a) ** 2 + (v / b) ** 2 < 1
        if kind == 2:
            inside &= np.sin(u / 4) > 0
        picture[inside] = colour
    return np.asarray(np.clip(picture + random.normal(0, 0.03, picture.shape), 0, 1))


class Studio:
    """A hand in front of a camera in Blender."""

    def __init__(self, hand: SkinnedHand, video: Video) -> None:
        bpy.ops.wm.read_homefile(use_empty=True)
        self.hand, self.video = hand, video
        self.armature = build_armature(hand)
        mesh = build_skin(hand, self.armature)
        mesh.parent = self.armature
        mesh.data.shade_smooth()
        material = bpy.data.materials.new("skin")
        material.diffuse_color = (*SKINS[video.skin], 1.0)
        mesh.data.materials.append(material)
        self.armature.hide_render = True
        self._set_camera()
        self.background = busy_background() if video.background == "busy" else np.full((HEIGHT, WIDTH, 3), 0.62)

    def _set_camera(self) -> None:
        scene = bpy.context.scene
        data = bpy.data.cameras.new("camera")
        data.sensor_width, data.lens_unit, data.angle = 36.0, "FOV", np.deg2rad(ANGLE_OF_VIEW)
        data.clip_start = 0.01
        scene.camera = bpy.data.objects.new("camera", data)
        scene.collection.objects.link(scene.camera)
        # Blender's camera looks along its -Z with +Y up.
        scene.camera.matrix_world = Matrix(np.diag([1.0, -1.0, -1.0, 1.0]))
        render = scene.render
        render.engine, render.film_transparent = "BLENDER_WORKBENCH", True
        render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
        render.image_settings.file_format, render.image_settings.compression = "PNG", 0
        scene.view_settings.view_transform = "Standard"
        scene.display.render_aa = "5"
        shading = scene.display.shading
        shading.light, shading.color_type, shading.show_cavity = "STUDIO", "MATERIAL", True

    def shoot(self, path: Path, angles: Floats, roots: Floats) -> None:
        """Render a picture of poses (N, 26) at roots (N, 4, 4): their mean, if the shutter is open for N poses."""
        shots = []
        for angle, root in zip(angles, roots, strict=True):
            self.pose(angle, root)
            bpy.context.scene.render.filepath = str(path.with_suffix(".png"))
            bpy.ops.render.render(write_still=True)
            shots.append(picture_of(path.with_suffix(".png")))
        path.with_suffix(".png").unlink()
        rgba = np.mean(shots, axis=0)
        _save_jpeg(path, rgba[..., :3] * rgba[..., 3:] + self.background * (1 - rgba[..., 3:]))

    def pose(self, angles: Floats, root: Floats) -> None:
        """Pose the armature at T_camera_wrist."""
        rotations = to_matrix(joint_rotations(self.hand.model, (angles - self.hand.rest_angles)[None]))[0]
        self.armature.matrix_world = Matrix(root)
        for joint, rotation in zip(JOINTS, rotations, strict=True):
            self.armature.pose.bones[joint].matrix_basis = Matrix(rotation).to_4x4()
        bpy.context.view_layer.update()

    def joints(self) -> Floats:
        """Return T_camera_joint (25, 4, 4), as Blender has them."""
        world = np.array(self.armature.matrix_world)
        return np.stack([world @ np.array(self.armature.pose.bones[joint].matrix) for joint in JOINTS])


def picture_of(path: Path) -> Floats:
    """Return (HEIGHT, WIDTH, 4) of a picture, from its top."""
    image = bpy.data.images.load(str(path))
    flat = np.empty(4 * WIDTH * HEIGHT, np.float32)
    image.pixels.foreach_get(flat)
    bpy.data.images.remove(image)
    return flat.reshape(HEIGHT, WIDTH, 4)[::-1].astype(float)


def _save_jpeg(path: Path, rgb: Floats) -> None:
    image = bpy.data.images.new("picture", WIDTH, HEIGHT)
    flat = np.concatenate([rgb, np.ones((HEIGHT, WIDTH, 1))], axis=2)[::-1].astype(np.float32).ravel()
    image.pixels.foreach_set(flat)
    image.filepath_raw, image.file_format = str(path), "JPEG"
    image.save()
    bpy.data.images.remove(image)


def render(video: Video) -> None:
    """Render a video's pictures and write its truth, unless they exist."""
    folder = BUILD / video.name
    if (folder / "truth.npz").is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    hand = hands()[video.hand]
    angles, roots = motions()[video.motion]
    roots = roots_in_camera(video, hand, roots)
    studio, joints = Studio(hand, video), []
    frames = np.arange(0, len(angles) - BLUR, STEP)
    for number, frame in enumerate(frames):
        open_for = np.linspace(frame - STEP / 4, frame + STEP / 4, BLUR) if video.blurred else np.array([float(frame)])
        at = np.clip(open_for, 0, len(angles) - 1)
        low = np.floor(at).astype(int)
        between = (at - low)[:, None]
        shown = angles[low] + between * (angles[np.minimum(low + 1, len(angles) - 1)] - angles[low])
        placed = roots[low] + between[..., None] * (roots[np.minimum(low + 1, len(angles) - 1)] - roots[low])
        studio.shoot(folder / f"{number:04d}.jpg", shown, placed)
        studio.pose(angles[frame], roots[frame])
        joints.append(studio.joints())
    np.savez(folder / "truth.npz", times=frames / RATE, joints=np.array(joints), angles=angles[frames])
    (folder / "video.json").write_text(json.dumps({"side": hand.model.side, "hand": hand.name}))


def truth(video: Video) -> Truth:
    """Return the joints of a rendered video."""
    with np.load(BUILD / video.name / "truth.npz") as arrays:
        return Truth(arrays["times"], arrays["joints"], arrays["angles"])


def main() -> None:
    """Render the named videos, or all."""
    chosen = [video for video in VIDEOS if not sys.argv[1:] or any(word in video.name for word in sys.argv[1:])]
    for video in chosen:
        render(video)
        print(video.name, flush=True)


if __name__ == "__main__":
    main()
