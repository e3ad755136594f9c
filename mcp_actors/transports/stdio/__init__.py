"""stdio: the server is a child process; frames go through its stdin and stdout."""
