"""What the solvers make in the algebra while they pose a hand, as shapes to be drawn: docs/how-to/posing.md.

    shapes.py    spheres, circles, planes, lines, pairs, points, arcs of limits and chains of bones, each with its name
    cga_recorder.py  the steps of the solver `cga` with everything they are asked and answer written down
    digit_shapes.py    one digit: reach, plane, joints, FABRIK's passes, limits
    palm_shapes.py      the palm's plane, and the knuckles found on it
    rigid_palm.py      a hand whose palm stays as it is, as the solver has it
    arm_shapes.py      an arm: shoulder, elbow and wrist
    watched_solve.py   what a tool is solving for right now

Nothing here solves: the solvers are run once more, and what they made is told. The tests hold that their answers lie on
the shapes.
"""

from .arm_shapes import trace_arm
from .digit_shapes import Tracer
from .palm_shapes import trace_palm
from .rigid_palm import firm
from .shapes import Kind, Shape, Trace
from .watched_solve import Watched, forget, watch

__all__ = ["Kind", "Shape", "Trace", "Tracer", "Watched", "firm", "forget", "trace_arm", "trace_palm", "watch"]
