"""Blender panels, gizmos and overlays. They only draw."""
