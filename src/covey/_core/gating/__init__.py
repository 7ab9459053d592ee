"""Learned importances i_k(x): pools of members, fitted together with them."""
