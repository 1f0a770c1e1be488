"""What the person can do in Blender: read, assign, solve, write. No mathematics here."""
