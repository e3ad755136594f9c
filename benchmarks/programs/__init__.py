"""Programs that connect, make one call, write the moment of its answer, and end, like a user's first."""
