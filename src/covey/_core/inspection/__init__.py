"""What can be measured of an ensemble: diversity, bounds, bias and variance, consensus."""
