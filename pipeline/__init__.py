"""The whole path from a recipe to solved hands: read, label, clean, measure, smooth, solve, retarget."""
