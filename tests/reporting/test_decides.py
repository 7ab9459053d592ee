from covey import gate_share
from covey.reporting._words import percent


def test_equal_weights_take_one_sentence(reports):
    assert "All members alike, 20\u00a0% each" in reports["product"].html
    assert "decides-class-map" not in reports["product"].html
    assert "decides-class-map" in reports["gated"].html


def test_a_gated_flock_says_what_is_lost_without_its_gate(
    reports, wine, gated, diabetes, gated_values
):
    for kind, model, (_, X, _, y) in (
        ("gated", gated, wine),
        ("gated values", gated_values, diabetes),
    ):
        measured = gate_share(model, X, y)
        assert (
            f"<strong>{percent(measured.lost_without_gate)}</strong> is lost" in reports[kind].html
        )
    assert "Of what this flock knows" not in reports["product"].html
    assert "Of what this flock knows" not in reports["fused"].html
