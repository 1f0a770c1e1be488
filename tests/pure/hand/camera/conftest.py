"""Landmarks that tests of this folder make up have no detector's errors, unless they say so."""

import numpy as np
import pytest

from knuckle.hand.camera import landmark_corrections
from knuckle.hand.camera.landmark_shape import COUNT


@pytest.fixture(autouse=True)
def perfect_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expect no errors."""
    none = np.zeros((landmark_corrections.PREDICTORS, 3 * COUNT))
    monkeypatch.setattr(landmark_corrections, "error_coefficients", lambda: none)
