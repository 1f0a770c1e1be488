"""Keep changed angles within limits and hard couplings."""

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def project_to_limits(hand: HandModel, angles: Floats, desired: Floats) -> Floats:
    """Return angles (F, D) moved from feasible ones towards `desired` (F, D), within limits and hard couplings.

    Angles that hard couplings link move along a line together; all others are clipped to their limits. The feasible
    set is convex, so the line is feasible up to the first constraint it meets. Where couplings are equations, the line
    leads to the feasible point nearest to `desired`.
    """
    low, high = hand.limits.T
    result = np.clip(desired, low, high)
    hard = [row for row in hand.couplings if not row.soft]
    rows = np.concatenate([np.eye(hand.dofs), *(row.coefficients[None] for row in hard)])
    bounds = np.concatenate([hand.limits, *([[row.lower, row.upper]] for row in hard)])
    equal = np.array([row.coefficients for row in hard if row.lower == row.upper]).reshape(-1, hand.dofs)
    desired = desired - (desired - angles) @ equal.T @ np.linalg.pinv(equal).T
    for part in _linked_groups(np.array([row.coefficients for row in hard]).reshape(-1, hand.dofs) != 0):
        inside = np.any(rows[:, part] != 0, axis=1)
        start, step = angles @ rows[inside].T, (desired - angles) @ rows[inside].T
        distance = np.where(step > 0, bounds[inside, 1] - start, start - bounds[inside, 0])
        reachable = np.where(np.abs(step) > 1e-12, np.maximum(distance, 0.0) / np.maximum(np.abs(step), 1e-12), 1.0)
        fraction = np.minimum(reachable.min(axis=1, initial=1.0), 1.0)[:, None]
        result[:, part] = (angles + fraction * (desired - angles))[:, part]
    return result


def _linked_groups(links: Bools) -> list[Bools]:
    """Return the groups (D,) of angles connected by links (R, D); angles without a link are in none."""
    parts: list[Bools] = []
    for link in links:
        disjoint = [part for part in parts if not np.any(part & link)]
        joined = np.any([link, *(part for part in parts if np.any(part & link))], axis=0)
        parts = [*disjoint, np.asarray(joined, np.bool_)]
    return parts
