"""Landmarks that tests of this folder make up have no detector's errors, unless they say so."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.hand.camera import landmark_corrections


@pytest.fixture(autouse=True)
def perfect_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expect no errors."""
    network = landmark_corrections.error_network()
    weights, bias = np.zeros_like(network.output_weights), np.zeros_like(network.output_bias)
    perfect = replace(network, output_weights=weights, output_bias=bias)
    monkeypatch.setattr(landmark_corrections, "error_network", lambda: perfect)
