"""What makes the same lines fast on a CUDA device: kernels and graphs."""
