"""Posing a rig's hands: dragging, pins, sliders, named poses, grasping."""
