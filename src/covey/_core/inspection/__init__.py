"""Measures of an ensemble: diversity, bounds, bias and variance, consensus."""
