"""The shell command `knuckle`."""
