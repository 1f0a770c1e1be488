"""Grasping an object of any shape: the hand's pose, its path, and how its fingers close.

    grasp_circle.py      four points of an object, its grasping circle and plane, where a hand first touches it
    approach.py          the path of a hand to its grasp: a screw motion, in steps
    object_shape.py      a ball, a bar or a block, and about which axis, from a triangulated surface
    distance_field.py    the signed distance from a surface, cached on a grid
    skin_samples.py      points of a hand's skin, carried by its joints
    finger_closing.py    flexion of joints until the skin touches, without penetration
    grips.py             how people hold things: a table
    contact_frames.py    where in the hand the object lies
    candidates.py        poses from which a hand may grasp
    grasp_quality.py     how well a grasp holds
    grasp_planning.py    the best of the candidates
    detour.py            the path to the grasp, around the object
    arm_reach.py         reach and strain of the arm

A surface is represented by its signed distance alone (distance_field.Distance), so tests can use shapes whose distance
is a formula. CGA-arm section 7, and beyond.
"""
