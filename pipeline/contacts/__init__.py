"""Find and hold contacts of the performer's hand with itself or with surfaces, and keep its digits apart."""
