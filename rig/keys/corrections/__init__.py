"""Corrections on a take: its keys are composed of those that were solved and of what corrections change."""
