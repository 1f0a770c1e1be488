"""The hand tracker of FABRIK-CGA section 3.4 in conformal geometric algebra.

    sphere_intersection.py      a joint from two markers and a plane: every case of C² and B², (3.3)-(3.6)
    three_marker_palm.py        the palm's plane and joints from p, q and r, (3.1)-(3.6)
    two_marker_palm.py          the palm's rotation from two markers, 3.4.1
    cga_palm.py                 the palm's pose from any visible palm markers
    cga_digit_plane.py          the plane of each finger (3.8) and of the thumb, and the rotor (3.9) that leads to it
    cga_bend.py                 FABRIK in the plane with (3.10)-(3.13)
    cga_solver.py               the solver, made of these steps

docs/explanation/cga.md explains the algebra and how it is used.
"""

from .cga_solver import Cga

__all__ = ["Cga"]
