"""What the paper argues against."""
