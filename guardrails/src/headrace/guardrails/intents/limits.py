"""The largest values that a request may name."""

# Above this no link exists: a typing slip rather than a limit. 100 Tb/s and 2^63 bytes.
MAX_RATE_BPS = 10**14
MAX_SIZE_BYTES = 2**63 - 1
