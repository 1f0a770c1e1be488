"""Conformal geometric algebra G(4,1): spheres, planes, circles, lines and points as multivectors.

    from knuckle.solvers.cga import generated as g, nearest_points, objects, versors

Types (generated.py) are named tuples of coefficients by blade, over the basis e1 e2 e3, n_o (o, the origin) and n∞ (i).
A coefficient is a float or an array: the same functions serve one live frame and all frames of a take. All objects
are in CGA-arm's representation 1 (standard: Sphere, Plane, Circle, Line, Pair) unless their names begin with Direct.

    generated.py  up, sphere, plane_at · join_* (through points, direct) · direct_*, standard_* (duals) · meet_*_* ·
                  dot_*_* · square_* · rotor_*, translator_*, motor_*, dilator_*, mirror_* (versor on object)
    objects.py    vector, positions (arrays in and out) · centre, position_of, circle_parameters, pair_points ·
                  plane_through, line_of, sphere_of (of unit length) · sign (real, touching, imaginary)
    nearest_points.py    nearest_on_sphere, nearest_on_circle, foot_on_plane, foot_on_line,
                  nearest_on_line_from_sphere, nearest_on_line_from_circle
    versors.py    translator, dilator, rotor, rotor_between, motor_between (planes) · quaternion, matrix
    scalars.py    safe_sqrt, choose, safe_divide, safe_inverse: what floats and arrays need written differently

For one joint of the palm, from two markers, two lengths and the palm's plane (FABRIK-CGA 3.3-3.6):

    circle = g.meet_sphere_sphere(g.sphere(p, ρ1), g.sphere(q, ρ2))
    points = pair_points(g.meet_circle_plane(circle, plane_through(p, q, r)))

docs/explanation/cga.md describes the conventions.
"""
