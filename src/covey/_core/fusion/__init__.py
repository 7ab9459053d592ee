"""Rules that make one decision of the predictions of members."""
