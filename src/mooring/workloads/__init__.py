"""What belongs together: gangs as people declare them, their members, their minimums and their wishes."""
