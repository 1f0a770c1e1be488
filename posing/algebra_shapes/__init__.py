"""The objects of conformal geometric algebra that the solvers use to pose a hand, as shapes to draw.

See docs/how-to/see-the-algebra.md.

    shapes.py          spheres, circles, planes, lines, pairs, points, arcs and chains of bones, each with its name
    cga_recorder.py    the steps of the solver `cga`, with their inputs and outputs recorded
    digit_shapes.py    one digit: reach, plane, joints, FABRIK's passes, limits
    palm_shapes.py     the palm's plane, and the knuckles found on it
    rigid_palm.py      a hand with a rigid palm, as the solver assumes
    arm_shapes.py      an arm: shoulder, elbow and wrist
    line_drawing.py    shapes as lines and triangles

Nothing is solved here: the solvers run again, and their intermediate objects are recorded. Tests check that the
solutions lie on the shapes.
"""

from .arm_shapes import trace_arm
from .digit_shapes import Tracer
from .palm_shapes import trace_palm
from .rigid_palm import with_rigid_palm
from .shapes import Kind, Shape, Trace

__all__ = ["Kind", "Shape", "Trace", "Tracer", "trace_arm", "trace_palm", "with_rigid_palm"]
