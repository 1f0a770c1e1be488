"""Smoothing: of targets before solving, and of angles after it."""
