"""Grasping an object of any shape: where its hand goes, on what way, and how its fingers close.

    grasp_circle.py      four points of an object, its grasping circle and plane, where a hand first touches it
    approach.py          the way of a hand to its grasp: a screw, in steps
    object_shape.py      a ball, a bar or a block, and about which axis, from a triangulated surface
    distance_field.py    the signed distance from a surface, and a store of it
    skin_samples.py      points of a hand's skin, carried by its joints
    finger_closing.py    joints that bend until the skin touches, never through what they touch
    grips.py             how people hold things: a table
    contact_frames.py    where in the hand the object then lies
    candidates.py        from where a hand may come
    grasp_quality.py     how well it holds
    grasp_planning.py    the best of what was tried
    detour.py            the way there, around the object
    arm_reach.py         what the arm has to do for it

A surface is known by its signed distance alone (field.Distance), so that all of this is tried on shapes whose distance
is a formula. CGA-arm section 7, and beyond.
"""
