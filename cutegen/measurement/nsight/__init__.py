"""Hardware counters of one call, read by NVIDIA Nsight Compute."""
