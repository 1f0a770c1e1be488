"""Sockets and connections: how packets travel."""
