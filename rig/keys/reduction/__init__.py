"""Key reduction: as few keys as possible for a tolerance measured on the hand."""
