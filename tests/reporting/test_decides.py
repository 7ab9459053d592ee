def test_equal_weights_are_said_in_one_sentence(reports):
    assert "Everyone, everywhere, with a say of 20\u00a0%" in reports["product"].html
    assert "decides-class-map" not in reports["product"].html
    assert "decides-class-map" in reports["gated"].html
