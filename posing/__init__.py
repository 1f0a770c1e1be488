"""Pose one frame: sliders, dragging, touching, grasping. Knows no Blender.

sliders.py        curl, spread, oppose, cup: read from a hand's angles, and written to them
dragging/         dragging a fingertip, a knuckle or the palm, with fingertips pinned
following/        touching a point, and following a line or a sphere with a fingertip or the wrist (CGA-arm 5)
grasping/         grasps of an object: candidates, closing the fingers, the path there
algebra_shapes/   the solvers' objects of conformal geometric algebra, as shapes to draw
"""
