"""Posing one frame: sliders, dragging, touching, grasping. Knows no Blender.

sliders.py  curl, spread, oppose, cup: read of a hand's angles, and written to them
dragging/   dragging a fingertip, a knuckle or the palm, with fingertips pinned
following/  touching a point, and following a line or a sphere with a fingertip or the wrist: CGA-arm section 5
trace/      what the solvers make in the algebra while they pose a hand, as shapes to be drawn
"""
