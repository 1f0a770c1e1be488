"""Recordings of hands: `read(path) -> Markers`, one file a format."""
