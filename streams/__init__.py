"""Devices that stream hands as they move: packets in, frames of named joints and markers out."""
