"""What is done about noise: before solving, on what was seen, and after it, on the angles."""
