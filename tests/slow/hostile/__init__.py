"""`make hostile`: a client past the sign-in tries everything by every door; nothing runs that nobody agreed to."""
