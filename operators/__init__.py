"""Blender operators and properties. No mathematics here."""
