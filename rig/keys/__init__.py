"""Takes as keyframes."""
