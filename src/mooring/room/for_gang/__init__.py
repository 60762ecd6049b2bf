"""Room for a gang: pods go from several nodes so that all members fit, or nobody goes."""
