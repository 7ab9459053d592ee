"""Numbers that are too large, or too small, for floating point to go on with."""

# Coefficients of members beyond this have left what outputs can be made of.
MOST_COEFFICIENT = 1e100
