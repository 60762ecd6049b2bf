"""The real cluster: how it is reached, what it says, and how decisions are carried out there."""
