"""What a client answers when a server asks it for something."""
