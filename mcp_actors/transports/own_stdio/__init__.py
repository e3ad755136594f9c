"""The wire of a server that was started as a child process: this process's own stdin and stdout."""
