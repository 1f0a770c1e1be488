"""Grasping an object of any shape: where its hand goes, on what way, and how its fingers close.

    points.py     four points that tell an object apart, its grasping circle and plane, where a hand touches it first
    path.py       the way of a hand to its grasp: a screw, in steps
    shape.py      a ball, a bar or a block, and about which axis, from a triangulated surface
    flesh.py      points of a hand's skin, carried by its joints
    closing.py    joints that bend until the skin touches, never through what they touch
    grips.py      how people hold things: a table
    planning.py   which grip, from where: candidates, tried and scored

A surface is known by its signed distance alone (closing.Distance), so that all of this is tried on shapes whose
distance is a formula. CGA-arm section 7, and beyond.
"""
