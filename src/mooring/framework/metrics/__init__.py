"""What the scheduler measures about itself."""
