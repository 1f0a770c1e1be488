"""Identify unlabelled trajectories as markers of hands, by shape and motion.

`trajectories` follows markers from frame to frame and splits columns where a marker jumps. `shape_model` describes
where a hand's markers may be. `palm_candidates` finds possible palms: markers at constant distances. `hungarian`
assigns the other trajectories to the hand at minimum cost. `label_search` runs the whole search.
"""
