"""Blender panels, gizmos and overlays. They draw only."""
