"""The report page: a take, or two of them, as one HTML file that needs no network."""
