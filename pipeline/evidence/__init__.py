"""Evidence of how good each frame of a take is, the problems in it by rank, and conditions on its figures."""
