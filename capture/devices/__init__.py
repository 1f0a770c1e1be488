"""Live devices: the table of devices, the receiver thread and raw takes."""
