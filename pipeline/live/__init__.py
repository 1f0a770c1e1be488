"""Live solving: a device's frames in, posed hands out. Independent of Blender."""
