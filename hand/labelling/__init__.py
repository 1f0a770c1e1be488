"""Identify unlabelled trajectories as markers of hands, by shape and motion.

`trajectories` follows markers over frames and cuts where they jump, `shape_model` says where a hand's markers may be,
`hungarian` assigns one to the other at minimum cost, `palm_candidates` starts that from markers at constant distances,
and `label_search` does all this over a whole capture.
"""
