"""Words of other languages for from and to: the request is asked about, its places are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.language.phrases import Hit, Reading, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TO = """
        nach|vers|hacia|para|naar|til|till|al|alla|allo|\u00e0|\u00e1|zu|zum|zur|ins|auf|verso|pentru|k|ke|na|do|w
        |\u0432|\u043d\u0430|\u043a|\u0434\u043e|\u3078|\u306b|\u307e\u3067|\u5230|\u81f3|\u2192|sur|dans|chez
        |jusqu'\u00e0|hasta|em|op|bis|i|hin
        """
_FROM = """
        von|aus|depuis|desde|del|dal|dalla|van|fra|fr\u00e5n|z|ze|\u0438\u0437|\u0441|\u043e\u0442|\u304b\u3089
        |\u4ece|\u5f9e|vom|de|da|di|dari
        """
_DOUBT = Doubt("only English is understood: say copy, sync, move or stream")


def _place(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    return lambda hit: ((slot, hit.one(Place)), ("foreign", _DOUBT))


RULES = (
    *rule("place in another language", _place("destination"), f"({_TO}) (<loc>|<path>|<ep>)"),
    *rule("place in another language", _place("source"), f"({_FROM}) (<loc>|<path>|<ep>)"),
)
