"""Jacobian inverse kinematics: classic methods, Levenberg-Marquardt within limits, and two variants (Dynamical 5.1)."""

from .instantaneous import PairWise, WholeHand
from .jacobian_solver import Jacobian, JacobianState

__all__ = ["Jacobian", "JacobianState", "PairWise", "WholeHand"]
