"""Reduction of keys: as few as keep a hand where it was, measured on the hand."""
