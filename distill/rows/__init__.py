"""Rows of token ids: what they say, which tokens carry the loss, and what refuses them."""
