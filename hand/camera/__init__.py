"""Hands fitted in a camera's picture: the landmarks that a detector finds, and the hand whose joints they show."""
