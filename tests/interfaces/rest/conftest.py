from tests.service.conftest import quiet_site, site

__all__ = ["quiet_site", "site"]
