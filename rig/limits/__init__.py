"""Joint limits that a rig states, and limits added to its bones."""
