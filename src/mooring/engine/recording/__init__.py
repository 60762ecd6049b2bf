"""What an engine is told and decides, as bytes; and the same again, to see where decisions differ."""
