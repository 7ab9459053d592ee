"""Helpers for extensions of covey."""
