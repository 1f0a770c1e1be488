"""Dynamical inverse kinematics (Rapetti et al. 2020)."""

from .dynamical_solver import Dynamical

__all__ = ["Dynamical"]
