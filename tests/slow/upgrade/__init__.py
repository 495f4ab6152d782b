"""`make upgrade`: two processes of an earlier release become today's, one after the other, while people work."""
