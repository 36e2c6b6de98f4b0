"""The privacy loss distribution: stated once, sampled by operators, composed by contours and grids."""
