"""Text in any encoding becomes UTF-8, block by block."""

import io

import pytest

from covey.cli._console import CommandError
from covey.cli._text_tables import Encoding, csv_batches, in_utf8


def test_western_text_is_noticed_in_a_late_block_and_said_once():
    notes = []
    encoding = Encoding("t.csv", notes.append)
    assert encoding.utf8(b"plain\n") == b"plain\n"
    assert encoding.utf8("café\n".encode("latin-1")).decode() == "café\n"
    assert encoding.utf8("5 €\n".encode("cp1252")).decode() == "5 €\n"
    # Bytes that Windows-1252 does not know are those of Latin-1.
    assert encoding.utf8(b"\x81\n").decode() == "\x81\n"
    assert len(notes) == 1


def test_utf8_with_a_wrong_byte_is_damaged_and_not_western():
    encoding = Encoding("t.csv")
    encoding.utf8("Köln\n".encode())
    with pytest.raises(CommandError, match="UTF-8 text that is damaged after 'caf'"):
        encoding.utf8(b"caf\xe9\n")
    with pytest.raises(CommandError, match="damaged"):
        Encoding("t.csv").utf8("Köln Zürich\n".encode() + b"caf\xe9\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_in_pieces(encoding):
    text = "naam,π\n" + "größe,1\n" * 60_000
    source = io.BufferedReader(io.BytesIO(text.encode(encoding)))
    notes = []
    batches = [batch for batch, _ in csv_batches(source, "t.csv", None, notes.append)]
    assert sum(batch.num_rows for batch in batches) == 60_000
    assert batches[0].schema.names == ["naam", "π"]
    assert notes == ["t.csv is read as UTF-16."]


def test_half_a_character_of_utf16_is_one_sentence():
    source = io.BufferedReader(io.BytesIO("a,b\n1,2\n".encode("utf-16") + b"\x00"))
    with pytest.raises(CommandError, match="UTF-16 text that is damaged; save it as UTF-8"):
        list(csv_batches(source, "t.csv", None))
    plain = io.BufferedReader(io.BytesIO(b"a,b\n"))
    assert in_utf8(plain, "t.csv") is plain
