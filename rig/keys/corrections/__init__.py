"""Corrections of a take: its keys are composed of the solved ones and of the changes by corrections."""
