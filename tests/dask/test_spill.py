import errno

import numpy as np
import pytest

from covey.dask._spill import SpillBuffer, size_of


class Block:
    """An array of so many numbers."""

    def __init__(self, n_numbers, value=0.0):
        self.array = np.full(n_numbers, value)

    @property
    def n_bytes(self):
        return self.array.nbytes


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_fits_is_kept_in_memory_and_the_rest_on_disk(tmp_path):
    buffer = SpillBuffer(1000, tmp_path)
    for number in range(3):
        buffer.put(number, Block(50, number))
    assert (len(buffer), buffer.n_files, len(files(tmp_path))) == (3, 1, 1)
    for number in range(3):
        assert buffer.get(number).array[0] == number
    buffer.drop(0)
    buffer.put(2, buffer.get(2))
    assert (len(buffer), buffer.n_files) == (2, 0)
    assert not files(tmp_path)


def test_blocks_that_are_used_in_turn_stay_where_they_are(tmp_path):
    buffer = SpillBuffer(1000, tmp_path)
    blocks = [Block(50) for _ in range(3)]
    for number, block in enumerate(blocks):
        buffer.put(number, block)
    (file,) = files(tmp_path)
    for _ in range(2):
        for number in range(3):
            buffer.put(number, buffer.get(number), changed=False)
    assert files(tmp_path) == [file]
    assert buffer.get(0) is blocks[0]


def test_a_block_that_grows_beyond_the_limit_is_written(tmp_path):
    buffer = SpillBuffer(1000, tmp_path)
    block = Block(100, 1.0)
    buffer.put("a", block)
    block.array = np.full(200, 2.0)
    buffer.put("a", block, changed=False)
    assert buffer.n_files == 1
    restored = buffer.get("a").array
    assert len(restored) == 200
    assert restored.flags.writeable


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    buffer = SpillBuffer(0, tmp_path)

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("zict.File.__setitem__", full)
    with pytest.raises(OSError, match="does not fit into the folder .*; make room") as caught:
        buffer.put("a", Block(10))
    assert caught.value.errno == errno.ENOSPC


def test_files_are_removed_with_the_buffer(tmp_path):
    buffer = SpillBuffer(0, tmp_path)
    buffer.put("a", Block(10))
    assert files(tmp_path)
    del buffer
    assert not list(tmp_path.iterdir())


def test_sizes_of_sparse_matrices_count_their_indices():
    from scipy.sparse import csr_array

    matrix = csr_array(np.eye(3))
    assert size_of([matrix, None]) == 3 * 8 + matrix.indices.nbytes + matrix.indptr.nbytes
