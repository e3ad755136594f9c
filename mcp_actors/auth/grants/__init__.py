"""The ways to a token: one file for each grant."""
