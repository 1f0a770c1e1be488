"""From targets to joint angles. Knows no Blender."""
