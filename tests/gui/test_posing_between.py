"""Blender's own pose tools used in a window between two hand poses that are keyed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

TOLERANCE = {"own": 0.1, "makehuman": 3.0}
"""degrees: Blender blends quaternions, by which a thumb goes a way that no limits of the rig's own hold."""


def test_what_blenders_pose_tools_make_of_two_hand_poses_is_between_them_and_inside_the_limits(
    play: Callable[[str], dict[str, Any]], rigs: Path
) -> None:
    reported = play("posing_between")
    for name in ("own", "makehuman"):
        rig = reported[name]
        first, last = rig["spread"]["angles"], rig["fist"]["angles"]
        bends = [dof for dof in first if abs(first[dof] - last[dof]) > 10 and "flexion" in dof]
        assert len(bends) > 8, bends
        for tool in ("breakdown", "blend to neighbor", "relax"):
            made = rig[tool]
            for dof in bends:
                low, high = sorted((first[dof], last[dof]))
                assert low - 1 < made["angles"][dof] < high + 1, f"{name}, {tool}: {dof}"
            for joint, degrees in made["outside"].items():
                assert degrees < rig["built"][joint] + TOLERANCE[name], f"{name}, {tool}: {joint}"
        # Towards where the mouse went: on to the second pose, back to the first.
        assert _share(rig["breakdown"]["angles"], first, last, bends) > 0.55
        assert _share(rig["blend to neighbor"]["angles"], first, last, bends) < 0.45


def _share(made: dict[str, float], first: dict[str, float], last: dict[str, float], bends: list[str]) -> float:
    shares = [(made[dof] - first[dof]) / (last[dof] - first[dof]) for dof in bends]
    return sum(shares) / len(shares)
