"""Live solving, from a device's frames to posed hands. Independent of Blender."""
