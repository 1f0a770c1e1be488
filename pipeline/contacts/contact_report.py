"""List contacts for a report."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ..corrections.touch_json import touch_to_dict
from .find_contacts import Contact
from .held_contacts import HeldContact, HeldContacts
from .hold_touch import touch_from_contact
from .meeting_points import offsets_between

Floats = NDArray[np.float64]


def contact_report(
    contacts: Sequence[Contact], held_contacts: HeldContacts | None, keyed: Pose, times: Floats
) -> list[dict[str, Any]]:
    """Return contacts, JSON-ready: digit, other, first and last frame from 1, gap_mm of the performer's skins.

    The entries also have start and end in s, from times (F,), and `touch`, with which a correction holds the contact.
    Held contacts also have the errors of the keyed pose, off_mm and slip_mm.
    """
    by_contact = (
        {id(held_contact.contact): held_contact for held_contact in held_contacts.contacts}
        if held_contacts is not None
        else {}
    )
    entries = []
    for contact in contacts:
        touch = touch_from_contact(contact)
        span = {"digit": touch.parts[0], "other": touch.parts[1], "first": contact.first + 1, "last": contact.last + 1}
        contact_times = {"start": round(float(times[contact.first]), 6), "end": round(float(times[contact.last]), 6)}
        figures = _figures(by_contact[id(contact)], keyed) if id(contact) in by_contact else {}
        entries.append(
            span | {"gap_mm": round(1000 * contact.gap, 3)} | contact_times | {"touch": touch_to_dict(touch)} | figures
        )
    return entries


def _figures(held_contact: HeldContact, keyed: Pose) -> dict[str, float]:
    """Return the maximum distance of the points that meet, and the maximum change of their offset, in mm."""
    rows = slice(held_contact.contact.first, held_contact.contact.last + 1)
    offsets = 1000 * offsets_between(Pose.at_origin(keyed.hand, keyed.angles[rows]), held_contact.points)
    gap, slip = (float(np.linalg.norm(vectors, axis=1).max()) for vectors in (offsets, offsets - offsets.mean(axis=0)))
    return {"off_mm": round(gap, 3), "slip_mm": round(slip, 3)}
