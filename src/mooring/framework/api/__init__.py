"""What a policy is written against: the base class, what it may answer, what it may ask."""
