def test_equal_weights_take_one_sentence(reports):
    assert "All members alike, 20\u00a0% each" in reports["product"].html
    assert "decides-class-map" not in reports["product"].html
    assert "decides-class-map" in reports["gated"].html
