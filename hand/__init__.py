"""The hand model: joints, limits, mesh, calibration and labelling. Knows no Blender."""
