"""Wire protocols: one module for each device, with its table of names and axes, its parser and its sender."""
