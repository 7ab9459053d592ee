"""What ``make demo`` prints."""

from examples import demo


def test_demo_prints_its_tables(monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_REPEATS", 2)
    monkeypatch.setattr(demo, "N_MEMBERS", 2)
    demo.main()
    out = capsys.readouterr().out
    for name in (*demo.ROWS, "Quarter circle", "Wine", "How right is it?", "Row 1: malignant"):
        assert name in out
