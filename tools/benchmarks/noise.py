"""Measure smoothing: known motion with simulated faults, the lag of a live hand, and real captures with and without it.

python tools/benchmarks/noise.py [--solver fabrik]    prints the tables of docs/explanation/noise.md. Needs ../shared.
"""

import argparse
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
FRAMES, RATE = 1000, 100.0
WARM_UP_FRAMES = 20
"""Number of first frames that are not scored, as in the standard problem's own scoring."""
MODES = ("off", "live", "whole")

if "knuckle" not in sys.modules:
    # This file is run from anywhere; Knuckle need not be installed.
    spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    assert spec and spec.loader
    sys.modules["knuckle"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])
sys.path[:0] = [str(SHARED / "bench"), str(ROOT / "benchmarks")]

import knuckle_runner  # noqa: E402
from make_problem import motion  # noqa: E402

import hand as standard  # noqa: E402
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, TIPS  # noqa: E402
from knuckle.hand.kinematics import joint_frames  # noqa: E402
from knuckle.hand.targets import Targets  # noqa: E402
from knuckle.pipeline import job  # noqa: E402
from knuckle.pipeline.recipe import Recipe  # noqa: E402
from knuckle.pipeline.take import SolvedHand  # noqa: E402
from knuckle.solvers import SOLVERS, State, make_smoothing  # noqa: E402
from knuckle.solvers.solver import residuals  # noqa: E402


def truth(seed: int) -> tuple[Floats, Floats]:
    """Return (F, 5, 4, 3) mm and (F, 5, 5) rad, joints and angles of a moving hand of the standard problem that was not
    used to choose settings."""
    angles = motion(FRAMES, 1 / RATE, np.random.default_rng(seed))
    points, _ = standard.fk(angles)
    return np.asarray(points, np.float64), angles


def faults(tips: Floats, seed: int) -> dict[str, tuple[Floats, Bools]]:
    """Return fault -> markers (F, 5, 3) mm with the fault, and whether they are seen (F, 5)."""
    rng = np.random.default_rng(seed)
    noisy = tips + rng.normal(0, 1.0, tips.shape)
    is_seen = np.ones(tips.shape[:2], bool)
    times = rng.choice(np.arange(50, FRAMES - 50), 40, replace=False)
    digits = rng.integers(0, 5, len(times))
    jumps = noisy.copy()
    jump = rng.normal(size=(len(times), 3))
    jumps[times, digits] += jump / np.linalg.norm(jump, axis=1, keepdims=True) * rng.uniform(9, 43, (len(times), 1))
    swaps, gaps = noisy.copy(), is_seen.copy()
    for time, digit in zip(times[:20], digits[:20], strict=True):
        other, rows = (digit + 1) % 5, slice(time, time + int(rng.integers(1, 4)))
        swaps[rows, digit], swaps[rows, other] = noisy[rows, other], noisy[rows, digit]
        gaps[time : time + 15, digit] = False
    return {
        "1 mm of noise": (noisy, is_seen),
        "and 40 jumps of 9-43 mm": (jumps, is_seen),
        "and 20 swaps of two tips, 1-3 frames": (swaps, is_seen),
        "and 20 gaps of 0.15 s": (noisy, gaps),
    }


def targets_of(tips: Floats, is_seen: Bools) -> tuple[Any, Targets]:
    """Return the problem's hand, and its tips as targets."""
    hand = knuckle_runner.standard_hand()
    sites = np.array([hand.site_index(tip) for tip in TIPS])
    return hand, Targets(np.arange(len(tips)) / RATE, sites, tips / 1000 * is_seen[..., None], is_seen.astype(float))


def angles_of(solver: str, mode: str, tips: Floats, is_seen: Bools) -> Floats:
    """Return the angles (F, 5, 5) rad of the solved hand."""
    hand, targets = targets_of(tips, is_seen)
    smoothing = make_smoothing(mode, {})
    smoothed = smoothing.smooth_targets(hand, targets, 0.2)
    pose, _ = SOLVERS[solver]().solve(hand, smoothed.targets, State(np.eye(4), hand.neutral))
    angles = smoothing.smooth_pose(hand, smoothed.targets, pose, smoothed.noise).angles
    return np.asarray(knuckle_runner.columns_of(hand, angles), np.float64)


def known_hands(solver: str) -> None:
    """Print errors and jitter against the true hand, for each fault and mode."""
    print("| | smoothing | tips to truth mean / max, mm | middle joints mean / max, mm | jitter over the truth's |")
    print("|---|---|---|---|---|")
    points, _ = truth(4711)
    for fault, (tips, is_seen) in faults(points[:, :, 3], 4712).items():
        for mode in MODES:
            positions, _ = standard.fk(angles_of(solver, mode, tips, is_seen))
            errors = np.linalg.norm(positions - points, axis=-1)[WARM_UP_FRAMES:]
            jitter = [
                np.linalg.norm(np.diff(p[WARM_UP_FRAMES:, :, 1:], 2, axis=0), axis=-1).mean()
                for p in (positions, points)
            ]
            tip, middle = errors[:, :, 3], errors[:, :, 1:3]
            print(
                f"| {fault} | {mode} | {tip.mean():.2f} / {tip.max():.1f} "
                f"| {middle.mean():.2f} / {middle.max():.1f} | {jitter[0] / jitter[1]:.1f} |"
            )


def lag_of(delayed: Floats, points: Floats) -> float:
    """Return the lag, in frames, of paths (F, ...) behind others: the maximum of their velocities' correlation, by a
    parabola."""
    delayed_velocity, velocity = (
        np.diff(paths[WARM_UP_FRAMES:], axis=0).reshape(len(paths) - WARM_UP_FRAMES - 1, -1)
        for paths in (delayed, points)
    )
    shifts = np.arange(-3, 6)
    correlations = np.array(
        [
            (delayed_velocity[10 + s : len(delayed_velocity) - 10 + s] * velocity[10 : len(velocity) - 10]).sum()
            for s in shifts
        ]
    )
    best = int(np.clip(correlations.argmax(), 1, len(shifts) - 2))
    before_peak, peak, after_peak = correlations[best - 1 : best + 2]
    return float(shifts[best] + (before_peak - after_peak) / (2 * (before_peak - 2 * peak + after_peak)))


def lags(solver: str) -> None:
    """Print the lag of a live hand: frames from the markers to the pose, with and without noise."""
    print("\n| noise | frames waited for | lag, frames of 10 ms |\n|---|---|---|")
    points, _ = truth(4711)
    for sigma in (0.0, 1.0):
        tips = points[:, :, 3] + np.random.default_rng(1).normal(0, 1, points[:, :, 3].shape) * sigma
        hand, targets = targets_of(tips, np.ones(tips.shape[:2], bool))
        for wait in (0, 1):
            smoothing = make_smoothing("live", {"lag": wait})
            late, _ = smoothing.smooth_piece(targets)  # type: ignore[attr-defined]
            pose, _ = SOLVERS[solver]().solve(hand, late.targets, State(np.eye(4), hand.neutral))
            angles = smoothing.smooth_pose(hand, late.targets, pose, late.noise).angles
            displayed, _ = standard.fk(knuckle_runner.columns_of(hand, angles))
            print(f"| {sigma:g} mm | {wait} | {lag_of(displayed[:, :, 3], points[:, :, 3]):.2f} |")


def captures(solver: str) -> None:
    """Print for real captures the largest rotation of a finger in one calm frame, the jitter, and the markers'
    errors."""
    print("\n| capture | hand | smoothing | largest turn in a calm frame: thumb, fingers, degrees ", end="")
    print("| jitter of tips, mm | of angles, degrees | markers RMSE, mm | tips mean / p99 / max, mm |")
    print("|---|---|---|---|---|---|---|---|")
    for name in ("two_hands_glove.c3d", "qualisys_glove.tsv", "leap_finger_tap.json", "mediapipe_video.json"):
        for mode in MODES:
            take = job.run(Recipe(str(SHARED / "data" / "captures" / name), solver=solver, smoothing=mode))
            for hand in take.hands:
                print(f"| {name} | {hand.side} | {mode} | {_figures(hand)} |", flush=True)


def occlusions(solver: str) -> None:
    """Print the distances of hidden fingertips of real captures from their recorded markers."""
    print("\n| capture | hidden for | smoothing | hidden tips, mean / p90, mm |\n|---|---|---|---|")
    for name in ("two_hands_glove.c3d", "qualisys_glove.tsv"):
        solved_hand = job.run(Recipe(str(SHARED / "data" / "captures" / name), solver=solver)).hands[-1]
        for seconds in (0.3, 0.6, 1.2):
            for mode in MODES:
                misses = _hidden(solver, mode, solved_hand.hand, solved_hand.targets, seconds)
                print(
                    f"| {name} | {seconds:g} s | {mode} | {misses.mean():.1f} / {np.quantile(misses, 0.9):.1f} |",
                    flush=True,
                )


def _hidden(solver: str, mode: str, hand: Any, targets: Targets, seconds: float) -> Floats:
    """Return the distances (mm) of hidden tips from their markers.

    Fingers are hidden in turn, with gaps twice as long in between.
    """
    names = [hand.joints[hand.sites[site].joint] for site in targets.sites]
    weights, hidden = targets.weights.copy(), np.zeros(targets.weights.shape, bool)
    length = round(seconds / float(np.median(np.diff(targets.times))))
    for number, start in enumerate(range(2 * length, len(targets) - 2 * length, 3 * length)):
        chain = CHAIN_JOINTS[DIGITS[1 + number % 4]]
        columns = np.flatnonzero(np.isin(names, chain[1:]) | (np.isin(names, chain[:1]) & _has_offset(hand, targets)))
        rows = slice(start, start + length)
        hidden[rows, columns] = weights[rows, columns] > 0
        weights[rows, columns] = 0.0
    smoothing = make_smoothing(mode, {})
    smoothed = smoothing.smooth_targets(hand, replace(targets, weights=weights), 0.2)
    pose, _ = SOLVERS[solver]().solve(hand, smoothed.targets)
    pose = smoothing.smooth_pose(hand, smoothed.targets, pose, smoothed.noise)
    is_tip = np.isin(names, TIPS)
    truth = replace(targets, weights=hidden * is_tip)
    errors: Floats = 1000 * residuals(hand, truth, pose)
    return errors[np.isfinite(errors)]


def _has_offset(hand: Any, targets: Targets) -> Bools:
    return np.array([any(hand.sites[site].offset) for site in targets.sites])


def _figures(solved_hand: SolvedHand) -> str:
    hand, pose = solved_hand.hand, solved_hand.pose
    joints = [hand.sites[site].joint for site in solved_hand.targets.sites]
    root = pose.root
    positions = np.where(solved_hand.measured[..., None], solved_hand.targets.positions, np.nan)
    in_wrist = np.einsum("fji,ftj->fti", root[:, :3, :3], positions - root[:, None, :3, 3])
    displacements = np.linalg.norm(np.diff(in_wrist, axis=0), axis=-1)
    cosines = np.abs((pose.rotations[1:] * pose.rotations[:-1]).sum(-1)).clip(0, 1)
    rotations_deg = np.rad2deg(2 * np.arccos(cosines))
    largest = []
    for digit in DIGITS:
        chain = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        smoothed = np.all(displacements[:, np.isin(joints, chain)] < 0.005, axis=1)
        largest.append(rotations_deg[smoothed][:, chain].max(initial=0.0))
    ends = [hand.joints.index(tip) for tip in TIPS]
    tips = joint_frames(hand, pose)[:, :, :3, 3][:, ends]
    jitter = 1000 * np.sqrt((np.diff(tips, 3, axis=0) ** 2).sum(-1).mean())
    angle_jitter = np.rad2deg(np.sqrt((np.diff(pose.angles, 3, axis=0) ** 2).mean()))
    errors = 1000 * np.where(solved_hand.measured, residuals(hand, solved_hand.targets, pose), np.nan)
    tip_errors = errors[:, np.isin(joints, ends)]
    return (
        f"{largest[0]:.0f}, {max(largest[1:]):.0f} | {jitter:.2f} | {angle_jitter:.2f} "
        f"| {np.sqrt(np.nanmean(errors**2)):.2f} "
        f"| {np.nanmean(tip_errors):.2f} / {np.nanquantile(tip_errors, 0.99):.2f} / {np.nanmax(tip_errors):.1f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solver", default="fabrik", choices=sorted(SOLVERS))
    chosen = parser.parse_args().solver
    known_hands(chosen)
    lags(chosen)
    captures(chosen)
    occlusions(chosen)
