"""How predictions of members become one decision."""
