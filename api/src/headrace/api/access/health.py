"""Whether the service can work."""

from importlib.metadata import version

from headrace.api.audit.chain import Audit
from headrace.api.core import Core
from headrace.api.signing.signer import Signer
from headrace.api.sites.nodes import Nodes
from headrace.client import models as m


class Health:
    """Says how the service is."""

    def __init__(self, audit: Audit, nodes: Nodes, signer: Signer, core: Core) -> None:
        """Look at these parts."""
        self._audit = audit
        self._nodes = nodes
        self._signer = signer
        self._core = core

    def report(self) -> m.Health:
        """Say whether the service can work; needs no sign-in."""
        works = self._audit.writable and self._core.database.writable and not self._core.jobs.troubles
        return m.Health(
            status="ok" if works else "degraded",
            version=version("headrace-api"),
            nodes_attached=self._nodes.attached_count,
            audit="ok" if self._audit.writable else "unwritable",
            key=self._signer.public,
        )
