"""The mathematics, on plain arrays. Nothing in here imports scikit-learn."""
