"""The frames over which armatures are animated, and the frames on which they are read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CaptureError
from ..keys.fcurves import curves_of, key_values
from ..keys.nla_layers import playing_strips

if TYPE_CHECKING:
    from bpy.types import ID, Constraint, Object, Scene

Floats = NDArray[np.float64]

MAX_FRAMES = 200_000
"""Maximum number of frames that are read, about an hour at 50 Hz."""
KEY_DIGITS = 3
"""Decimals of a frame to which keys are rounded, so that keys of several curves coincide."""
MIN_STEP = 10.0**-KEY_DIGITS
"""Frames: keys that are closer together do not show how the animation was sampled."""
HOLD = 1.5
"""Frames without a key that are a hold, which does not show how the animation was sampled."""
MIN_DENSE = 0.5
"""Fraction of an animation's length with keys between frames that makes it a dense sampling, holds left out."""


@dataclass(frozen=True, slots=True)
class FrameSpan:
    """Frames of a scene, evenly spaced."""

    first: float
    last: float
    step: float = 1.0
    """Spacing in scene frames; below 1 if the keys are denser than the scene's frames."""

    def frames(self) -> Floats:
        """Return the frames (F,)."""
        count = int(np.floor((self.last - self.first) / self.step + 1e-3)) + 1
        frames: Floats = self.first + self.step * np.arange(count, dtype=float)
        return frames


@dataclass(frozen=True, slots=True)
class _Animation:
    """The range of frames that one action or strip plays, and the frames of its keys."""

    name: str
    """The action's name; empty for a strip without an action."""
    first: float
    last: float
    keys: Floats


def animated_span(armatures: "Iterable[Object]", scene: "Scene") -> FrameSpan:
    """Return the frames on which to read armatures.

    These are the frames of the actions and NLA strips that play on them, on their parents and on the targets of their
    constraints, including every key of a dense sampling. Armatures that only constraints or drivers move are read over
    the scene's range. Raises CaptureError for armatures without animation, or with too many frames.
    """
    armatures = tuple(armatures)
    blocks = [block for armature in armatures for block in _carriers(armature)]
    played = [animation for block in blocks for animation in _animations(block)]
    if played:
        span = FrameSpan(min(animation.first for animation in played), max(animation.last for animation in played))
        span = FrameSpan(span.first, span.last, min(map(_step, played)))
    elif any(map(_is_moved_without_keys, armatures)):
        span = FrameSpan(scene.frame_start, scene.frame_end)
    else:
        raise CaptureError(f"{_named(armatures)} is not animated, expected an action, NLA strips or constraints")
    if not (span.last - span.first) / span.step < MAX_FRAMES:
        raise CaptureError(
            f"{_named(armatures)} is animated from frame {span.first:g} to {span.last:g}, "
            f"expected {MAX_FRAMES} samples at most"
        )
    return span


def is_animated(armature: "Object") -> bool:
    """Return whether keys, drivers or constraints could move an armature."""
    has_keys = any(True for block in _carriers(armature) for _ in _animations(block))
    return has_keys or _is_moved_without_keys(armature)


def actions_played(armature: "Object") -> set[str]:
    """Return the names of the actions that play on an armature and on the objects that carry it."""
    return {animation.name for block in _carriers(armature) for animation in _animations(block)}


def _named(armatures: "tuple[Object, ...]") -> str:
    return f"armature '{armatures[0].name}'"


def _carriers(armature: "Object") -> "set[Object]":
    """Return an armature with all its ancestors and constraint targets, and those of these."""
    carriers: set[Object] = set()
    pending = [armature]
    while pending:
        obj = pending.pop()
        if obj not in carriers:
            carriers.add(obj)
            targets = (getattr(constraint, "target", None) for constraint in _constraints(obj))
            pending += [target for target in (obj.parent, *targets) if target is not None]
    return carriers


def _is_moved_without_keys(armature: "Object") -> bool:
    animation = armature.animation_data
    return bool(animation and len(animation.drivers)) or bool(_constraints(armature))


def _constraints(obj: "Object") -> "list[Constraint]":
    """Return the constraints of an object and its bones that are not muted."""
    bones = obj.pose.bones if obj.pose else ()
    return [constraint for owner in (obj, *bones) for constraint in owner.constraints if not constraint.mute]


def _animations(block: "ID") -> Iterator[_Animation]:
    """Yield the animations that the action and the NLA of a data-block play."""
    holder: Any = block
    animation = holder.animation_data
    if animation is None:
        return
    if animation.action is not None and animation.action_slot is not None:
        action = animation.action
        keys = _keys(action, animation.action_slot)
        if action.use_frame_range:
            yield _Animation(action.name, action.frame_start, action.frame_end, keys)
        elif len(keys):
            yield _Animation(action.name, float(keys[0]), float(keys[-1]), keys)
    for strip in playing_strips(animation):
        yield _Animation(getattr(strip.action, "name", ""), strip.frame_start, strip.frame_end, _strip_keys(strip))


def _strip_keys(strip: Any) -> Floats:
    """Return the frames (K,) of a strip's keys, with its scale applied."""
    if strip.action is None or strip.action_slot is None:
        return np.empty(0)
    return float(strip.scale) * _keys(strip.action, strip.action_slot)


def _keys(action: Any, slot: Any) -> Floats:
    """Return the frames (K,) on which any curve of a slot has a key."""
    frames = [key_values(curve, "co")[::2] for curve in curves_of(action, slot)]
    return np.unique(np.round(np.concatenate(frames).astype(float), KEY_DIGITS)) if frames else np.empty(0)


def _step(animation: _Animation) -> float:
    """Return the spacing of keys that are denser than the scene's frames; 1 for other keys."""
    steps = np.diff(animation.keys)
    steps = steps[steps > MIN_STEP]
    dense = steps < 0.99
    # Exporters add keys where the angles of a rotating joint jump: a dense sampling extends over most of the length.
    if steps[dense].sum() <= MIN_DENSE * steps[steps < HOLD].sum():
        return 1.0
    spacing = float(np.median(steps[dense]))
    # Keys are rounded, and some may be missing. The mean step between neighbours is more accurate.
    spacing = float(np.sum(steps) / np.sum(np.round(steps / spacing).clip(1)))
    spacing = float(np.mean(steps[steps < 1.5 * spacing]))
    # Frames are stored in 32 bits, so the spacing over the whole length is more accurate than that between two keys.
    length = float(animation.keys[-1] - animation.keys[0])
    return length / round(length / spacing)
