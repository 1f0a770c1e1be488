"""Blender's panels, gizmos and overlays. They only draw."""
