"""Contacts as a report tells them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...hand.flesh import PALM
from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from .find_contacts import Contact
from .held_contacts import HeldContact, HeldContacts
from .meeting_points import offsets_between


def contact_report(contacts: Sequence[Contact], held: HeldContacts | None, keyed: Pose) -> list[dict[str, Any]]:
    """Return contacts, JSON-ready: digit, other, first and last frame from 1, gap_mm of the performer's skins.

    Of those that are held also what the keyed pose makes of them: off_mm and slip_mm.
    """
    by_contact = {id(each.contact): each for each in held.held} if held is not None else {}
    told = []
    for contact in contacts:
        digit, other = ("palm" if part == PALM else DIGITS[part] for part in contact.parts)
        span = {"digit": digit, "other": other, "first": contact.first + 1, "last": contact.last + 1}
        figures = _figures(by_contact[id(contact)], keyed) if id(contact) in by_contact else {}
        told.append(span | {"gap_mm": round(1000 * contact.gap, 3)} | figures)
    return told


def _figures(held: HeldContact, keyed: Pose) -> dict[str, float]:
    """Return how far the points that meet are apart at most, and how far the offset between them changes, in mm."""
    rows = slice(held.contact.first, held.contact.last + 1)
    offsets = 1000 * offsets_between(Pose.at_origin(keyed.hand, keyed.angles[rows]), held.points)
    off, slip = (float(np.linalg.norm(each, axis=1).max()) for each in (offsets, offsets - offsets.mean(axis=0)))
    return {"off_mm": round(off, 3), "slip_mm": round(slip, 3)}
