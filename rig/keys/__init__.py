"""Keyframes: takes written onto armatures."""
