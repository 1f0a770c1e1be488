"""Grasping an object of any shape: where its hand goes, on what way, and how its fingers close.

    points.py     four points that tell an object apart, its grasping circle and plane, where a hand touches it first
    path.py       the way of a hand to its grasp: a screw, in steps
    shape.py      a ball, a bar or a block, and about which axis, from a triangulated surface
    field.py      the signed distance from a surface, and a store of it
    flesh.py      points of a hand's skin, carried by its joints
    closing.py    joints that bend until the skin touches, never through what they touch
    grips.py      how people hold things: a table
    seats.py      where in the hand the object then lies
    trying.py     from where a hand may come
    judging.py    how well it holds
    planning.py   the best of what was tried
    route.py      the way there, around the object
    carrying.py   what the arm has to do for it

A surface is known by its signed distance alone (field.Distance), so that all of this is tried on shapes whose distance
is a formula. CGA-arm section 7, and beyond.
"""
