"""Dynamical inverse kinematics (Rapetti et al. 2020)."""

from .solver import Dynamical

__all__ = ["Dynamical"]
