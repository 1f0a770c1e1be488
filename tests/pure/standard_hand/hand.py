"""The standard hand: a right hand of five fingers in its palm's frame, mm and rad, its motion, and a solver's score.

Palm frame: origin in the wrist, X to the little finger, Y along the straight fingers, Z out of the back. A finger has
the angles [abduction, flexion, second abduction, second flexion, third flexion]: Rz(a) Rx(-f) at the first joint, the
same at the second, Rx(-f) at the third; a segment runs along its own Y. Written for these tests, independent of
knuckle.hand: bone lengths are those of Buryanov and Kotiuk 2010.
"""

import numpy as np
from scipy.spatial.transform import Rotation

LEN = np.array(
    [[46.22, 31.57, 27.34], [39.78, 22.38, 19.66], [44.63, 26.33, 21.35], [41.37, 25.65, 21.25], [32.74, 18.11, 19.69]]
)
BASE_P = np.array([[-22.0, 22, -12], [-24, 90, 0], [-2, 93, 2], [18, 86, 0], [36, 78, -4]])
BASE_R = np.stack(
    [
        Rotation.from_euler("ZXY", [50.0, -20.0, -55.0], degrees=True).as_matrix(),
        *(Rotation.from_euler("Z", splay, degrees=True).as_matrix() for splay in (5.0, 0.0, -5.0, -12.0)),
    ]
)
THUMB = [[-25, 30], [-15, 40], [-10, 10], [-10, 60], [-15, 80]]
FINGER = [[-15, 20], [-20, 90], [0, 0], [0, 100], [0, 70]]
LIM_DEG = np.array([THUMB, FINGER, FINGER, FINGER, FINGER], float)
"""(5, 5, 2) degrees of each finger's angles."""
LO, HI = np.moveaxis(np.deg2rad(LIM_DEG), -1, 0)
ACTIVE = HI > LO
"""(5, 5) which of them are degrees of freedom: 21."""
TOLERANCE = np.deg2rad(0.5)
"""rad beyond a limit that do not break it."""


def turn(axis, angles):
    """(..., 3, 3)"""
    vectors = np.zeros((*angles.shape, 3))
    vectors[..., axis] = angles
    return Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(*angles.shape, 3, 3)


def fk(q):
    """Of angles (..., 5, 5): points (..., 5, 4, 3) mm from the base to the tip, and rotations (..., 5, 3, 3, 3)."""
    first = BASE_R @ turn(2, q[..., 0]) @ turn(0, -q[..., 1])
    second = first @ turn(2, q[..., 2]) @ turn(0, -q[..., 3])
    third = second @ turn(0, -q[..., 4])
    turned = np.stack([first, second, third], -3)
    steps = LEN[..., None] * turned[..., 1]
    begin = np.broadcast_to(BASE_P[:, None], (*q.shape[:-1], 1, 3))
    return np.concatenate([begin, begin + np.cumsum(steps, axis=-2)], axis=-2), turned


def motion(frames, dt, rng):
    """(F, 5, 5) smooth angles inside their limits; fingers move partly together, DIP = 2/3 PIP and 2 degrees of noise.

    Numbers are drawn in the order in which the problem's definition has them, so that a seed gives its problem.
    """
    times, wave = np.arange(frames) * dt, np.zeros((frames, 5, 5))
    for finger, angle in np.ndindex(5, 5):
        for _ in range(5):
            speed, size, phase = rng.uniform(0.15, 1.6), rng.uniform(0.3, 1), rng.uniform(0, 2 * np.pi)
            wave[:, finger, angle] += size / np.sqrt(speed) * np.sin(2 * np.pi * speed * times + phase)
    share = 0.5 + 0.5 * np.tanh(0.72 * wave / wave.std(axis=0))
    share[:, 1:] = (share[:, 1:] + share[:, 2:3]) / 2
    q = LO + (HI - LO) * (0.03 + 0.94 * share)
    for finger in range(1, 5):
        loose = sum(np.sin(2 * np.pi * rng.uniform(0.3, 3) * times + rng.uniform(0, 2 * np.pi)) for _ in range(4))
        bent = 2 / 3 * q[:, finger, 3] + np.deg2rad(2.0) / np.sqrt(2) * loose
        q[:, finger, 4] = np.clip(bent, LO[finger, 4], HI[finger, 4])
    return q


def score(problem, solved, warm=20):
    """Figures of a solver's angles, without the first `warm` frames: everybody begins at rest."""
    late = slice(min(warm, len(problem["q_true"]) - 1), None)
    angles, truth = solved["angles"][late], problem["points_true"][late]
    points = fk(angles)[0]
    away = (angles - problem["q_true"][late] + np.pi) % (2 * np.pi) - np.pi
    shake, true_shake = (
        np.linalg.norm(np.diff(each[:, :, 1:], n=2, axis=0), axis=-1).mean() for each in (points, truth)
    )
    tips = np.linalg.norm(points[:, :, 3] - problem["tip_target"][late], axis=-1)
    return {
        "tip_mean_mm": tips.mean(),
        "tip_max_mm": tips.max(),
        "tip_true_mean_mm": np.linalg.norm(points[:, :, 3] - truth[:, :, 3], axis=-1).mean(),
        "mid_mean_mm": np.linalg.norm(points[:, :, 1:3] - truth[:, :, 1:3], axis=-1).mean(),
        "ang_rmse_deg": np.rad2deg(np.sqrt((away[:, ACTIVE] ** 2).mean())),
        "ang_rmse_fingers_deg": np.rad2deg(np.sqrt((away[:, 1:][:, ACTIVE[1:]] ** 2).mean())),
        "viol": int(((angles < LO - TOLERANCE) | (angles > HI + TOLERANCE)).sum()),
        "jitter_ratio": shake / true_shake,
    }
