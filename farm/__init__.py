"""Many takes at once: what is to be solved, on which workers, and what came of it."""
