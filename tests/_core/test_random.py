import numpy as np

from covey._core.random import Purpose, UniformRows, normals


def test_rows_do_not_depend_on_where_reading_starts():
    for width in (1, 3, 4, 7):
        rows = UniformRows(5, Purpose.FLIP, 2, 1, width)
        whole = rows.read(0, 20)
        np.testing.assert_array_equal(rows.read(13, 4), whole[13:17])
        assert whole.shape == (20, width)


def test_every_part_of_the_address_matters():
    def draw(*address):
        return UniformRows(*address, 8).read(0, 1).tobytes()

    addresses = [
        (0, Purpose.FLIP, 0, 0),
        (1, Purpose.FLIP, 0, 0),
        (0, Purpose.ACCEPT, 0, 0),
        (0, Purpose.FLIP, 1, 0),
        (0, Purpose.FLIP, 0, 1),
    ]
    assert len({draw(*address) for address in addresses}) == len(addresses)


def test_draws_are_uniform_and_normal():
    uniform = UniformRows(0, Purpose.FLIP, 0, 0, 50).read(0, 2000)
    assert abs(uniform.mean() - 0.5) < 0.005
    assert abs((uniform < 0.01).mean() - 0.01) < 0.002
    normal = normals(0, Purpose.START, 0, 0, (300, 300))
    assert abs(normal.std() - 1) < 0.01
