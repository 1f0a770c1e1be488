"""The hand: its joints, how they bend, how a performer's is measured. Knows no Blender."""
