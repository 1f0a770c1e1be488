"""What a recipe asks of the flesh of a hand, done to the hand that is keyed."""

from ...hand.generators import Steps
from ...hand.joints import DIGITS
from ...solvers.pose_problem import angles_of
from ..recipe import Recipe
from ..take import SolvedHand
from .keep_apart import keep_apart


def touch(recipe: Recipe, solved: SolvedHand) -> Steps[SolvedHand]:
    """Return a hand with its digits kept apart if the recipe says so. Digits that it does not key stay."""
    if recipe.keep_apart:
        free = angles_of(solved.keyed.hand, recipe.digits or DIGITS)
        solved = solved.with_keyed((yield from keep_apart(solved.keyed, solved.targets.times, solved.flesh, free)))
    return solved
