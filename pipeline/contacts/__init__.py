"""What of a hand touches what: contacts of the performer, which are found and held, and digits that are kept apart."""
