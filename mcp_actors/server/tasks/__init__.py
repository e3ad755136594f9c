"""Tasks: requests that outlive their answer, as in 2025-11-25 and as the later extension has them."""
