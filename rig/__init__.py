"""Armatures: finding hands, reading limits and poses, writing keys."""
