"""A file of UTF-8 text, read whole; what is in the way becomes an error that names the place."""

from __future__ import annotations

from mcp_actors.client.config.place import Place


def read_text(path: str, place: Place) -> str:
    """The text of a file, without a byte order mark."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    except ValueError:
        reason = "no path can hold a NUL character"
    raise place.error(f"the file cannot be read: {reason}")
