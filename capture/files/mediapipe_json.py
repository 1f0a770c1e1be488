"""MediaPipe hand landmarks as JSON: 21 world landmarks per hand, metres, x right, y down, z away from the camera.

Supported are frames of hands with `world_landmarks`, the results of `solutions.hands` (multi_hand_world_landmarks) and
of the Tasks (worldLandmarks), plain lists of 21 points per frame, and files of Knuckle's camera page
(protocols/camera_video.py). Image landmarks alone have no scale and are rejected; with world landmarks and the
picture's size, a hand is fitted to them (hand/camera). The handedness that a source states is often mirrored; that of
the camera page always is.
"""

from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ...errors import CaptureError
from ...hand.camera.picture_landmarks import LANDMARK_JOINTS, PictureFrame, PictureHand, PictureSize
from ...hand.joints import SIDES
from ..followed_pictures import follow_pictures
from ..hand_tracks import HandSample, marker_names, track_hands
from ..marker_labels import quoted
from ..markers import Floats
from ..recording import Recording
from .hand_json import MAX_HANDS, Json, claim_from, frames_of, points_from, rate_of, times_of

LANDMARKS = LANDMARK_JOINTS
CAMERA_FORMAT = "knuckle camera landmarks"
CAMERA_VERSION = 1
"""The newest version of the format that is read."""
PALM_LANDMARKS = [0, 5, 9, 13, 17]
"""Landmarks of the wrist and the knuckles."""
MIN_EXTENT = 1e-3
"""Minimum extent of a palm: in the picture as a fraction of its size, in space in m."""
MAX_PICTURE_SIZE = 65536
"""Maximum width and height of a picture in pixels."""
CAMERA_RATE = 30.0
"""Hz, assumed for frames without times: the rate of most cameras and videos."""

_WORLD_KEYS = (
    "world_landmarks",
    "worldLandmarks",
    "hand_world_landmarks",
    "handWorldLandmarks",
    "multi_hand_world_landmarks",
    "multiHandWorldLandmarks",
)
_IMAGE_KEYS = (
    "landmarks",
    "hand_landmarks",
    "handLandmarks",
    "multi_hand_landmarks",
    "multiHandLandmarks",
    "keypoints",
)
_PLAIN_KEYS = ("landmarks", "keypoints3D", "keypoints", "points", "joints", "positions")
_CLAIM_KEYS = ("handedness", "handednesses", "multi_handedness", "multiHandedness", "label", "hand", "side")


def matches(document: Json) -> bool:
    """Return whether one of the first frames has world or image landmarks of a hand."""
    return _is_hand(document) or any(
        hands_in(frame) or _has_only_image_landmarks(frame) for frame in frames_of(document)[:200]
    )


def read(document: Json, source: str) -> Recording:
    """Read the landmarks of every hand. Raises CaptureError if there are none in metres."""
    frames = [document] if _is_hand(document) else frames_of(document)
    hands = [hands_in(frame) for frame in frames]
    is_from_camera_page = isinstance(document, dict) and document.get("format") == CAMERA_FORMAT
    if isinstance(document, dict) and is_from_camera_page:
        _expect_known_version(document, source)
        hands = [exchange_sides(detected) for detected in hands]
    if not any(hands) or _are_image_landmarks(hands):
        raise CaptureError(f"{source}: only image landmarks, expected 21 world landmarks per hand in metres")
    rate, size = rate_of(document), _picture_size(document)
    times = times_of(frames, rate)
    names, positions, warnings = track_hands(hands, source)
    if times is None and rate is None and len(frames) > 1:
        rate = CAMERA_RATE
        warnings += (f"neither times nor a frame rate in the file: taken as {rate:g} Hz",)
    labels, positions = marker_names(names, LANDMARKS, positions)
    pictures = (
        []
        if size is None
        else [picture_frame(detected, size, sides_are_known=is_from_camera_page) for detected in hands]
    )
    followed = follow_pictures(pictures)
    return Recording(
        format="MediaPipe JSON",
        names=labels,
        positions=positions,
        times=times,
        rate=rate,
        unit="m",
        up="-y",
        up_is_defined=True,
        pictures=followed.stretches,
        warnings=warnings + followed.warnings,
    )


def _expect_known_version(document: dict[str, Json], source: str) -> None:
    version = document.get("version")
    if version != CAMERA_VERSION:
        expectation = f"expected {CAMERA_VERSION}: a newer Knuckle reads it"
        raise CaptureError(f"{source}: camera landmarks of version {quoted(str(version))}, {expectation}")


def exchange_sides(hands: list[HandSample]) -> list[HandSample]:
    """Exchange the claims left and right of hands in an unmirrored picture, since MediaPipe assumes a mirrored one."""
    opposite = {"left": "right", "right": "left"}
    return [replace(hand, claim=opposite.get(hand.claim, hand.claim)) for hand in hands]


def _picture_size(document: Json) -> PictureSize | None:
    """Return the size of the source's pictures; None if the document states none, or an impossible one."""
    sides = [document.get(key) for key in ("width", "height")] if isinstance(document, dict) else []
    valid_sides = [float(side) for side in sides if isinstance(side, float) and 1 <= side <= MAX_PICTURE_SIZE]
    return PictureSize(*valid_sides) if len(valid_sides) == 2 else None


def picture_frame(hands: list[HandSample], size: PictureSize, *, sides_are_known: bool) -> PictureFrame:
    """Return the hands with image landmarks as the detections in a picture of this size.

    sides_are_known: whether the claimed sides are certainly not mirrored; otherwise they are dropped.
    """
    detections = []
    for hand in hands:
        if hand.picture is not None and _is_in_picture(hand):
            claim = next((side for side in SIDES if sides_are_known and side == hand.claim), None)
            detections.append(PictureHand(hand.picture, hand.joints, claim))
    return PictureFrame(size, tuple(detections))


def _is_in_picture(hand: HandSample) -> bool:
    """Return whether all landmarks of a hand are plausible, and its palm is not a single point."""
    if hand.picture is None or not ((np.abs(hand.picture) < 10).all() and (np.abs(hand.joints) < 10).all()):
        return False
    palms = (hand.picture[PALM_LANDMARKS, :2], hand.joints[PALM_LANDMARKS])
    return all(float(np.ptp(palm, axis=0).max()) > MIN_EXTENT for palm in palms)


def _is_hand(value: Json) -> bool:
    return _points(value) is not None


def _points(value: Json) -> Floats | None:
    """Return the landmarks (21, 3) of one hand, also inside {landmark: [...]}; None if there are none."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("landmark", "landmarks") if key in value), None)
    return points_from(value, (len(LANDMARKS),))


def _hands_from(value: Json) -> list[Floats]:
    """Return the landmarks (21, 3) of each hand, from one hand or a list of hands."""
    single = _points(value)
    if single is not None:
        return [single]
    candidates = [_points(item) for item in value[:MAX_HANDS]] if isinstance(value, list) else []
    return [points for points in candidates if points is not None]


def _first_value(frame: dict[str, Json], keys: tuple[str, ...]) -> Json:
    return next((frame[key] for key in keys if frame.get(key)), None)


def hands_in(frame: Json) -> list[HandSample]:
    """Return the hands of a frame in any of the supported structures."""
    if isinstance(frame, list):
        plain = _hands_from(frame)
        if plain:
            return [_sample("hand", points, None) for points in plain]
        return [sample for hand in frame[:MAX_HANDS] if isinstance(hand, dict) for sample in hands_in(hand)]
    if not isinstance(frame, dict):
        return []
    if isinstance(frame.get("hands"), list):
        return [sample for hand in frame["hands"][:MAX_HANDS] for sample in hands_in(hand)]
    holder = frame["hands"] if isinstance(frame.get("hands"), dict) else frame
    sides = [key for key in holder if key.lower() in {"left", "right", "left_hand", "right_hand"}]
    if sides:
        return [sample for key in sides for sample in _side(holder[key], claim_from(key))]
    world = _hands_from(_first_value(frame, _WORLD_KEYS))
    image = _hands_from(_first_value(frame, _IMAGE_KEYS)) if world else []
    if not world and not _has_only_image_landmarks(frame):
        world = _hands_from(_first_value(frame, _PLAIN_KEYS))
    claims = _claims(_first_value(frame, _CLAIM_KEYS), len(world))
    return [
        _sample(claim, points, image_points)
        for claim, points, image_points in zip_longest(claims, world, image[: len(world)])
        if points is not None
    ]


def _side(value: Json, claim: str) -> list[HandSample]:
    """Return the hand stored under the name of its side."""
    if isinstance(value, dict):
        value = _first_value(value, (*_WORLD_KEYS, *_PLAIN_KEYS))
    return [_sample(claim, points, None) for points in _hands_from(value)[:1]]


def _claims(value: Json, count: int) -> list[str]:
    if isinstance(value, list) and len(value) == count:
        return [claim_from(item) for item in value]
    return [claim_from(value)] * count


def _has_only_image_landmarks(frame: Json) -> bool:
    """Return whether a frame is a result of MediaPipe that was saved without its world landmarks."""
    if not isinstance(frame, dict) or _first_value(frame, _WORLD_KEYS):
        return False
    return bool(_hands_from(_first_value(frame, _IMAGE_KEYS[1:])))


def _are_image_landmarks(frames: list[list[HandSample]]) -> bool:
    """Return whether the points are image landmarks despite their key: between 0 and 1, with the wrist at depth 0."""
    joints = np.array([hand.joints for hands in frames for hand in hands])
    wrist_depths = joints[:, 0, 2]
    image_coordinates = joints[..., :2][np.isfinite(joints[..., :2])]
    return bool(
        (np.abs(np.where(np.isfinite(wrist_depths), wrist_depths, 0.0)) < 1e-5).all()
        and len(image_coordinates)
        and image_coordinates.min() > -0.5
        and image_coordinates.max() < 1.5
        and np.median(image_coordinates) > 0.15
    )


def _sample(claim: str, points: Floats, image: Floats | None) -> HandSample:
    """Return a sample of a hand, located by its image landmarks if there are any, else by its shape.

    World landmarks have no position.
    """
    if image is not None and (np.abs(image[:, :2]) < 1e9).all():
        size = float(np.abs(image[0, :2] - image[9, :2]).max())
        return HandSample(claim, points, image[:, :2].sum(axis=0) / len(image), size, picture=image)
    shape = np.where(np.abs(points) < 1e9, points, 0.0).ravel() / np.sqrt(len(points))
    return HandSample(claim, points, shape, HandSample.of(claim, points).size)
