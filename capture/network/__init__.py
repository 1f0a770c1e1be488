"""Sockets and connections that carry packets."""
