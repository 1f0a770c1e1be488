"""Live solving: frames of a device in, posed hands out, as they come. Knows no Blender."""
