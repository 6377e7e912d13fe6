"""Where in a TOML file each key stands: `tomllib` gives no lines, so the text is walked once more."""

from __future__ import annotations

from pathlib import Path

from mase_hw.diagnostics import Place

Keys = tuple[str, ...]

_SPACE = " \t\r\n"
_KEY_END = " \t\r\n,]}#=."
_VALUE_END = "\r\n,]}#"  # a date and its time may stand apart


class _UnsureError(Exception):
    """The text is not what the walk expects; what was found so far still counts."""


class Places:
    """Maps a key path to its line. An unknown path gets the line of the table around it, or the file."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._stated: dict[Keys, int] = {}
        self._implied: dict[Keys, int] = {}  # `passes`, when only `[passes.quantize]` is written
        self.elsewhere: dict[str, Place] = {}  # keys at the top that were not given in the file
        walk = _Walk(text, self._stated, self._implied)
        try:
            walk.document()
        except (_UnsureError, IndexError, ValueError, RecursionError):
            return

    def of(self, *keys: str) -> Place:
        """The place of the key path, each part given on its own: `of("passes", "quantize", "by")`."""
        if keys and keys[0] in self.elsewhere:
            return self.elsewhere[keys[0]]
        for count in range(len(keys), 0, -1):
            known = self._stated.get(keys[:count]) or self._implied.get(keys[:count])
            if known:
                return Place(self.path, known)
        return Place(self.path)


class _Walk:
    """One pass over the characters of a TOML document, which `tomllib` has accepted before."""

    def __init__(self, text: str, stated: dict[Keys, int], implied: dict[Keys, int]) -> None:
        self.text = text
        self.at = 0
        self.line = 1  # of the character at `counted`
        self.counted = 0
        self.stated = stated
        self.implied = implied

    def document(self) -> None:
        table: Keys = ()
        counts: dict[Keys, int] = {}
        while self._skip():
            line = self._line()
            if self.text.startswith("[[", self.at):
                self.at += 2
                name = self._key()
                counts[name] = counts.get(name, -1) + 1
                table = (*name, str(counts[name]))
                self._record(name, line)
                self._record(table, line)
                self.at = self.text.index("]]", self.at) + 2
            elif self.text[self.at] == "[":
                self.at += 1
                table = self._key()
                self._record(table, line)
                self._expect("]")
            else:
                self._pair(table)

    def _pair(self, table: Keys) -> None:
        line = self._line()
        path = (*table, *self._key())
        self._record(path, line)
        self._expect("=")
        self._value(path)

    def _value(self, path: Keys) -> None:
        self._skip()
        first = self.text[self.at]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._sequence(path, "]")
        elif first == "{":
            self._sequence(path, "}")
        else:
            self._bare(_VALUE_END)

    def _sequence(self, path: Keys, closing: str) -> None:
        self.at += 1
        index = 0
        while self._skip():
            if self.text[self.at] == closing:
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
            elif closing == "}":
                self._pair(path)
            else:
                self._record((*path, str(index)), self._line())
                self._value((*path, str(index)))
                index += 1
        raise _UnsureError

    def _key(self) -> Keys:
        parts: list[str] = []
        while True:
            self._skip()
            parts.append(self._string() if self.text[self.at] in "\"'" else self._bare(_KEY_END))
            self._skip()
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _string(self) -> str:
        quote = self.text[self.at]
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(mark)
        start = self.at
        while not self.text.startswith(mark, self.at):
            # A backslash escapes in "..." alone. Only a key's text matters, and no key here needs an escape.
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
            if self.at >= len(self.text):
                raise _UnsureError
        inner = self.text[start : self.at]
        self.at += len(mark)
        while len(mark) == 3 and self.text.startswith(quote, self.at):  # may end in five quotes
            self.at += 1
        return inner

    def _bare(self, ends: str) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at += 1
        if self.at == start:
            raise _UnsureError
        return self.text[start : self.at]

    def _expect(self, mark: str) -> None:
        self._skip()
        if self.text[self.at] != mark:
            raise _UnsureError
        self.at += 1

    def _skip(self) -> bool:
        """Moves past blanks, newlines and comments; whether anything is left."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in _SPACE:
                self.at += 1
            else:
                return True
        return False

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _record(self, path: Keys, line: int) -> None:
        self.stated.setdefault(path, line)
        for count in range(1, len(path)):
            self.implied.setdefault(path[:count], line)
