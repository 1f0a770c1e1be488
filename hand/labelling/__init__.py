"""Which trajectory is which spot of which hand, told by shape and motion, for captures whose labels say nothing.

`tracks` follows trajectories over frames and cuts them where they leap, `shapes` says where a hand's markers may be,
`matching` assigns one to the other at the least cost, `palms` begins that from markers that keep their distances,
and `find` puts it together over a whole capture.
"""
