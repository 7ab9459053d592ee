"""The search for a flock: candidates, folds, cross-fit, selection."""
