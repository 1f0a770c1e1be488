"""Animated armatures as captures, from the open file and from files that Blender imports."""
