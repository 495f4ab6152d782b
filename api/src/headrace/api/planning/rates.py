"""The lowest rate ceiling that anybody may ask for: a slower transfer would hold its slot for years."""

from headrace.api.errors import Code, ServiceError
from headrace.client.text import bit_rate


def require_rate(rate_bps: int | None, min_rate_bps: int) -> None:
    """Refuse a ceiling that is too low; none at all is fine. Raises `rate_too_low`."""
    if rate_bps is not None and rate_bps < min_rate_bps:
        raise ServiceError(
            Code.RATE_TOO_LOW,
            f"a ceiling of {bit_rate(rate_bps)} is below the lowest here, {bit_rate(min_rate_bps)}; "
            "ask for at least that, or pause the transfer for as long as it should not move",
            fields=("rate_bps",),
        )
