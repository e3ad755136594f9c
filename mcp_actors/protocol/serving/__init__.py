"""The parts of the server machine, pure: what is checked, remembered and said, one noun each."""
