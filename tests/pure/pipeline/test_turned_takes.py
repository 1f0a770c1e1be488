"""Takes of devices that tell how joints are turned: the turns are read, kept through cleaning, and solved by."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from knuckle import capture as captures
from knuckle.capture.cleaning import Cleaning, clean, resample
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader, header_bytes, packet_bytes
from knuckle.capture.markers import Markers
from knuckle.capture.network.sender import OutgoingFrame, UdpSender
from knuckle.capture.network.transport import Address
from knuckle.errors import CaptureError
from knuckle.hand import kinematics
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX
from knuckle.pipeline import job
from knuckle.pipeline.assignment import assign_hands
from knuckle.pipeline.recipe import ANGLES, Recipe
from knuckle.tests.pure.capture.devices.moments import moments


def packets_of(device: str, take: Sequence[OutgoingFrame]) -> list[Packet]:
    sender = DEVICES[device].sender(Address())
    assert isinstance(sender, UdpSender)
    return [Packet(moment.time, packet) for moment in take for packet in sender.packets(moment)]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Xsens: both hands close in 90 frames; turns of all joints, and no fingertips."""
    path = tmp_path / "closing.rawtake"
    packets = packets_of("xsens", moments(90))
    path.write_bytes(header_bytes(RawTakeHeader("xsens")) + b"".join(map(packet_bytes, packets)))
    return path


def test_places_and_turns_are_read_as_the_parser_gave_them(recorded: Path) -> None:
    markers, parser = captures.read(recorded), DEVICES["xsens"].parser()
    frames = [frame for packet in packets_of("xsens", moments(90)) for frame in parser.feed(packet.content)]
    assert markers.rotations is not None and len(frames) == len(markers.times) == 90
    for number, frame in enumerate(frames):
        assert frame.rotations is not None
        rows = [frame.names.index(name) for name in markers.names]
        assert np.array_equal(markers.positions[number], frame.positions[rows], equal_nan=True)
        assert np.array_equal(markers.rotations[number], frame.rotations[rows], equal_nan=True)


def last_joints(recipe: Recipe) -> float:
    """Degrees, the median error of the last joints' turns (DIP, IP) against the hands that were sent."""
    take, sent = job.run(recipe), moments(90)
    joints = [JOINT_INDEX[name] for name in JOINT_INDEX if name.endswith("distal")]
    away = []
    for hand in take.hands:
        frames = kinematics.joint_frames(hand.hand, hand.pose)[:, joints, :3, :3]
        wanted = np.stack([moment.hands[hand.side][joints, :3, :3] for moment in sent])
        away.append(Rotation.from_matrix((np.swapaxes(frames, -1, -2) @ wanted).reshape(-1, 3, 3)).magnitude())
    return float(np.degrees(np.median(np.concatenate(away))))


@pytest.mark.parametrize(
    ("solver", "smoothing"), [("jacobian", "off"), ("jacobian", "whole"), ("dynamical", "off"), ("whole-hand", "off")]
)
def test_turns_tell_what_places_do_not(
    recorded: Path, solver: str, smoothing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last bone of a digit whose tip is not sent: by its turn it is known, by places alone it is not."""
    recipe = Recipe(capture=str(recorded), solver=solver, smoothing=smoothing, hand="both")
    by_turns = last_joints(recipe)
    read = captures.read
    monkeypatch.setattr(captures, "read", lambda *some, **more: replace(read(*some, **more), rotations=None))
    by_places = last_joints(recipe)
    assert by_turns < 1.0, f"{by_turns:.1f} degrees"
    assert by_places > 2.0, f"{by_places:.1f} degrees without, {by_turns:.1f} with turns"


@pytest.mark.parametrize("smoothing", ["off", "whole"])
def test_a_solver_of_places_takes_the_devices_angles_where_asked(recorded: Path, smoothing: str) -> None:
    solved, reported = (
        last_joints(Recipe(capture=str(recorded), smoothing=smoothing, angles=angles, hand="both")) for angles in ANGLES
    )
    assert solved > 2.0 and reported < 1.0, f"{solved:.1f} degrees solved, {reported:.1f} as told"


def turning(frames: int = 40) -> Markers:
    """Two joints, of which the second is not sent for a while."""
    times = np.arange(frames) / 30
    places = np.cumsum(np.random.default_rng(1).normal(0, 1e-3, (frames, 2, 3)), axis=0)
    turns = Rotation.random(2, random_state=2) * Rotation.from_rotvec([0.0, 0.0, 0.02])
    spun = np.stack(
        [(Rotation.from_rotvec([0.1 * n, 0.05 * n, 0.0]) * turns).as_quat()[:, [3, 0, 1, 2]] for n in range(frames)]
    )
    # Either sign is the same turn.
    spun[::3] *= -1
    spun[10:14, 1] = np.nan
    return Markers(("a", "b"), times, places, "a test", 30.0, "m", rotations=spun)


def test_turns_between_frames_lie_on_the_arc() -> None:
    markers = turning()
    finer = resample(markers, 77.0)
    assert markers.rotations is not None and finer.rotations is not None
    arc = Slerp(markers.times, Rotation.from_quat(markers.rotations[:, 0, [1, 2, 3, 0]]))
    away = arc(np.clip(finer.times, 0, markers.times[-1])).inv() * Rotation.from_quat(
        finer.rotations[:, 0, [1, 2, 3, 0]]
    )
    assert away.magnitude().max() < 1e-6
    gap = (finer.times > markers.times[9] + 1e-6) & (finer.times < markers.times[14] - 1e-6)
    assert np.array_equal(np.isnan(finer.rotations[:, 1]).all(axis=1), gap)


def test_cleaning_and_selecting_leave_turns_as_they_were() -> None:
    markers = turning()
    cleaned = clean(markers, Cleaning(gap_limit=1.0, cutoff=5.0))
    assert markers.rotations is not None and cleaned.rotations is not None
    assert np.array_equal(cleaned.rotations, markers.rotations, equal_nan=True)
    part = markers.select(slice(5, 20)).rotations
    assert part is not None and np.array_equal(part, markers.rotations[5:20], equal_nan=True)


def test_turns_of_another_shape_are_refused() -> None:
    with pytest.raises(
        CaptureError, match=r"rotations of shape \(40, 2, 3\), 40 frames of 2 markers need \(40, 2, 4\)"
    ):
        replace(turning(), rotations=np.zeros((40, 2, 3)))


def test_halfway_is_halfway_and_neighbours_are_no_division_by_zero() -> None:
    a = rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.3)
    b = rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.5)
    assert rot.slerp(a, -b, np.array([0.5])) == pytest.approx(rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.4))
    assert rot.slerp(a, a, np.array([0.7])) == pytest.approx(a)


def test_a_capture_without_turns_asks_for_none(shared: Path) -> None:
    recipe = Recipe(capture=str(shared / "data" / "captures" / "two_hands_glove.c3d"))
    markers = captures.read(recipe.capture)
    assert markers.rotations is None
    assert assign_hands(recipe, markers).hands
