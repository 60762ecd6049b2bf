"""Engine benchmarks: what `mooring bench` runs."""
