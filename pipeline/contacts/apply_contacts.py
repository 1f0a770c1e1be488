"""Apply a recipe's contact settings to the hand that is keyed."""

from dataclasses import replace

from ...hand.flesh import Flesh
from ...hand.generators import Steps
from ...hand.joints import DIGITS
from ...solvers.pose_problem import angles_of
from ..recipe import Recipe
from ..take import SolvedHand
from .contact_report import contact_report
from .find_contacts import find_contacts
from .flesh_depths import depths_at, part_depths
from .hold_contacts import hold_contacts
from .settling import settle


def apply_contacts(recipe: Recipe, solved: SolvedHand) -> Steps[SolvedHand]:
    """Return a hand with the performer's contacts found and held and its digits kept apart, as the recipe specifies.

    Digits that the recipe does not key do not move.
    """
    times, keyed, flesh = solved.targets.times, solved.keyed, solved.flesh
    free = angles_of(keyed.hand, recipe.digits or DIGITS)
    performer_flesh = Flesh.of(solved.pose.hand)
    deep = depths_at(performer_flesh, solved.pose.joints_in_wrist)
    contacts = find_contacts(solved.pose, times, performer_flesh, deep)
    held_contacts = hold_contacts(keyed, times, flesh, free, contacts) if recipe.hold_contacts and contacts else None
    if held_contacts is not None or recipe.keep_apart:
        known_depths = deep if solved.retargeted is None else None
        keyed = yield from settle(
            keyed, times, flesh, free, held_contacts, everywhere=recipe.keep_apart, deep=known_depths
        )
        solved = solved.with_keyed(keyed)
    elif solved.retargeted is None:
        solved = replace(solved, depths=part_depths(performer_flesh, deep))
    return replace(solved, contacts=tuple(contact_report(contacts, held_contacts, keyed, times)))
