"""Files are replaced completely or not at all."""

import os
import stat
from pathlib import Path

import pytest

from covey._files import replacing, write_file


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fails():
        with replacing(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        fails()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_file(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_device_is_written_to_as_it_is():
    with replacing("/dev/null") as draft:
        assert str(draft) == "/dev/null"
        draft.write_text("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"data")
    assert tmp_path.is_dir()


def test_bytes_are_on_the_disk_before_the_name_points_to_them(tmp_path, monkeypatch):
    order = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (order.append("fsync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *ends: (order.append("replace"), move(*ends)))
    write_file(tmp_path / "a.bin", memoryview(b"data"))
    # And the name, which is the folder's, after that.
    assert order == ["fsync", "replace", "fsync"]
    assert (tmp_path / "a.bin").read_bytes() == b"data"


def test_a_new_file_has_the_usual_rights(tmp_path):
    (tmp_path / "plain").write_text("")
    write_file(tmp_path / "ours", "")
    plain, ours = ((tmp_path / name).stat().st_mode for name in ("plain", "ours"))
    assert plain == ours


def test_a_file_that_is_there_keeps_its_rights(tmp_path):
    (tmp_path / "ours").write_text("old")
    (tmp_path / "ours").chmod(0o600)
    write_file(tmp_path / "ours", "new")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == 0o600


def test_a_draft_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    def fails(self, missing_ok=False):
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(Path, "unlink", fails)
    with pytest.raises(OSError, match=r"temporary file cannot be removed .*\.part\.bin"):
        write_file(tmp_path / "a.bin", b"data")
