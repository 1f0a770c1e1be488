"""Wire formats: one file a device, with its table of names and axes, its parser and its sender."""
