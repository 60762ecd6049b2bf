"""An embedded cluster: manifests in, a clock that jumps, the scheduler's decisions carried out."""
