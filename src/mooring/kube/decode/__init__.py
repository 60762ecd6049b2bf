"""Objects off the wire, as the model has them."""
