"""Joint limits that a rig defines, and limits added to its bones."""
