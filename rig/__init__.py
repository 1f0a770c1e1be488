"""Armatures, meshes and keyframes in Blender."""
