"""Animated armatures as captures: of the open file, and of files that Blender imports."""
