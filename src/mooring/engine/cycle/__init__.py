"""The steps of one attempt to place one pod."""
