"""What the person sees in Blender. Draws only."""
