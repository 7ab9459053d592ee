"""Text in any encoding becomes UTF-8, block by block."""

import io

import pytest

from covey.cli import _text_tables
from covey.cli._console import CommandError
from covey.cli._text_tables import csv_batches, utf8_blocks


def read(*lines, note=lambda sentence: None):
    return b"".join(utf8_blocks(io.BytesIO(b"".join(lines)), "t.csv", note)).decode()


def test_western_text_is_noticed_in_a_late_block_and_said_once(monkeypatch):
    monkeypatch.setattr(_text_tables, "_BLOCK_BYTES", 6)
    notes = []
    lines = b"plain\n", "café\n".encode("latin-1"), "5 €\n".encode("cp1252")
    assert read(*lines, note=notes.append) == "plain\ncafé\n5 €\n"
    # Bytes that Windows-1252 does not know are those of Latin-1.
    assert read(b"\x81\n") == "\x81\n"
    assert len(notes) == 1


def test_utf8_with_a_wrong_byte_is_damaged_and_not_western(monkeypatch):
    with pytest.raises(CommandError, match="damaged"):
        read("Köln Zürich\n".encode(), b"caf\xe9\n")
    monkeypatch.setattr(_text_tables, "_BLOCK_BYTES", 6)
    with pytest.raises(CommandError, match="UTF-8 text that is damaged after 'caf'"):
        read("Köln\n".encode(), b"caf\xe9\n")


def test_a_name_in_quotes_may_hold_separators_and_ends_of_lines():
    text = b'\xef\xbb\xbf"a;b;c\nd",e\n1,2\n'
    ((batch, separator),) = csv_batches(io.BytesIO(text), "t.csv")
    assert batch.to_pydict() == {"a;b;c\nd": ["1"], "e": ["2"]}
    assert separator == ","


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_in_pieces(encoding):
    text = "naam,π\n" + "größe,1\n" * 600_000
    notes = []
    source = io.BytesIO(text.encode(encoding))
    batches = [batch for batch, _ in csv_batches(source, "t.csv", None, notes.append)]
    assert len(batches) > 2
    assert sum(batch.num_rows for batch in batches) == 600_000
    assert batches[0].schema.names == ["naam", "π"]
    assert notes == ["t.csv is read as UTF-16."]


def test_half_a_character_of_utf16_is_one_sentence():
    source = io.BytesIO("a,b\n1,2\n".encode("utf-16") + b"\x00")
    with pytest.raises(CommandError, match="UTF-16 text that is damaged; save it as UTF-8"):
        list(csv_batches(source, "t.csv"))


def test_a_quote_that_is_left_open_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(_text_tables, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(_text_tables, "_LONGEST_RECORD", 1_000)
    for text in (b'a,b\n1,"x\n' + b"1,2\n" * 1_000, b"a,b\n" + b"1" * 2_000):
        with pytest.raises(CommandError, match="longer than 1,000 bytes; is a quote left open"):
            list(csv_batches(io.BytesIO(text), "t.csv"))
