"""What the planar solvers share: palm, planes of the digits, and how they bend there (FABRIK-CGA section 3.4)."""
