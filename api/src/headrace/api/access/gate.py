"""What the interfaces over HTTP get of the service: who somebody is, and the port bound to them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from headrace.api.access.acting import Acting
from headrace.api.access.use_cases import UseCases
from headrace.api.caller import Caller, Door
from headrace.api.settings import Settings
from headrace.auth import Principal

Again = Callable[[], Awaitable[Principal]] | None


@dataclass(frozen=True, slots=True)
class Gate:
    """The one way from an interface to the use cases."""

    use_cases: UseCases
    settings: Settings
    public_url: str

    def acting_for(
        self,
        principal: Principal,
        door: Door = Door.API,
        *,
        on_host: bool = False,
        again: Again = None,
        address: str = "",
    ) -> Acting:
        """Return the port `Headrace`, bound to a verified principal at one door (`on_host`: from this very host).

        `address` is the network address from which the call came, for the audit log.

        `again` verifies the caller's secret once more, for calls that take long. A token that names an assistant is
        used by one, whichever way it comes.
        """
        if principal.agent is not None:
            door = Door.MCP
        return Acting(self.use_cases, Caller(principal, door, on_host, again, address))
