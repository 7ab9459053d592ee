"""Helpers for those who extend covey."""
