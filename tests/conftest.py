"""Property tests try the same examples every time, and a busy machine does not make them fail."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "headrace", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headrace")
