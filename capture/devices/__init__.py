"""Devices that stream hands as they move: the table of devices, the reader thread and raw takes."""
