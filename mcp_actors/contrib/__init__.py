"""What other programs need to know to work well with ours."""
