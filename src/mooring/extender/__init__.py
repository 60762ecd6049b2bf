"""HTTP extenders: what is said to them and what they answer (`wire`), who asks them (`client`)."""
