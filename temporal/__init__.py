"""Paths over time: what is noise in them, what is motion. Arrays in, arrays out; knows no hand and no Blender."""
