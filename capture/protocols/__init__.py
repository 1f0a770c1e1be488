"""Wire protocols: a module for each device with its names and axes, its parser and its sender."""
