"""Members grown by Algorithm 1 over a stack of runs: eqs. (4) to (9)."""
