"""A server of notes: tools, a resource template, a prompt. `python notes_server.py` serves over stdio."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_actors import NotFound, Server, ToolError

server = Server("notes", version="1.0", instructions="One note for each day of the week.")

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
notes: dict[str, str] = {"monday": "buy milk"}


@server.tool()
def write_note(day: Day, text: Annotated[str, "what to remember"]) -> int:
    """Write a note down. Returns how many there are."""
    notes[day] = text
    server.resource_updated(f"notes://{day}")
    return len(notes)


@server.tool()
def search(word: str, limit: int = 10) -> dict[str, str]:
    """Find the notes that hold a word, by day."""
    if not word:
        raise ToolError("a word is needed to search for")
    found = [(day, text) for day, text in notes.items() if word.lower() in text.lower()]
    return dict(found[:limit])


@server.resource("notes://{day}")
def note(day: Day) -> str:
    """The note of one day."""
    if day not in notes:
        raise NotFound(f"nothing for {day}")
    return notes[day]


@server.prompt()
def plan(day: Day, mood: str = "calm") -> str:
    """Plan a day around its note."""
    return f"Plan my {day}, in a {mood} mood. Do not forget: {notes.get(day, 'nothing')}."


def main() -> None:
    server.run()


if __name__ == "__main__":
    main()
