"""Steps along the Jacobian: the classics, a Levenberg-Marquardt inside limits, and two cuts of it (Dynamical, 5.1)."""

from .instantaneous import PairWise, WholeHand
from .jacobian_solver import Jacobian, JacobianState

__all__ = ["Jacobian", "JacobianState", "PairWise", "WholeHand"]
