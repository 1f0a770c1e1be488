"""The skin of a hand: a closed quad mesh with nails, creases and skin weights."""
