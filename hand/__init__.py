"""The hand model: joints, limits, mesh, calibration and labelling. Runs without Blender."""
