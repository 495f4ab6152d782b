"""Understands slips in ordinary words. Names, numbers and units are never touched.

A word is only read as another one when it is unknown, no real word of its own, long enough, and
exactly one ordinary word is that near. Anything else stays as it is and is asked about.
"""

from __future__ import annotations

from functools import lru_cache

from rapidfuzz.distance import OSA

from headrace.guardrails.language.real_words import REAL_WORDS

# Words that may be meant by a slip: what to do, cue words, options, days, months.
_ORDINARY_TEXT = """
actually after afternoon afterwards also anything april august backup bandwidth before between bigger
biggest bring cancel cancelled capped changed checksum checksums clone completed copied copy copying could
daily deadline december delete deleting deliver destination display download downloaded duplicate encrypt
encrypted encrypting encryption evening every everything except exclude excluding existing failed faster
february fetch files finish folder friday from hello high hourly ignore immediately include including ingest instead
into january keeping larger largest limit limited list march matching maximum midnight mirror mirrored
modified monday monthly morning move moved moving newer night nightly normal nothing november october older
only onto original originals overwrite overwriting overwritten pause paused permissions please preserve
priority queued relocate remove replace replicate resume rsync running saturday send september show since
skip skipping smaller source start starting stash status stream sunday symlinks sync synced synchronise
synchronize than thank thanks throttle thursday timestamps today tomorrow tonight transfer transferring
transfers tuesday unencrypted until upload uploaded verification verified verify verifying wednesday weekday
weekend weekly without would written yesterday
"""
ORDINARY = frozenset(_ORDINARY_TEXT.split())
# Two slips in one long word.
_COMMON = {
    "tommorow": "tomorrow",
    "tommorrow": "tomorrow",
    "tomorow": "tomorrow",
    "tomorro": "tomorrow",
    "tmrw": "tomorrow",
    "wensday": "wednesday",
    "wendsday": "wednesday",
    "wednsday": "wednesday",
    "febuary": "february",
    "thrusday": "thursday",
    "teh": "the",
    "hte": "the",
    "adn": "and",
    "nad": "and",
    "fro": "from",
    "frm": "from",
    "fom": "from",
    "form": "from",
    "ot": "to",
    "wiht": "with",
    "wtih": "with",
    "pls": "please",
    "plese": "please",
    "pleas": "please",
    "thx": "thanks",
    "thnx": "thanks",
    "yse": "yes",
    "yess": "yes",
    "dont'": "don't",
    "do'nt": "don't",
    "evrything": "everything",
    "everthing": "everything",
    "encrytped": "encrypted",
    "encypt": "encrypt",
    "synchronze": "synchronize",
    "tranfser": "transfer",
    "tranfer": "transfer",
    "trasnfer": "transfer",
    "transfr": "transfer",
    "cancle": "cancel",
    "cancell": "cancel",
    "canel": "cancel",
    "puase": "pause",
    "pasue": "pause",
    "resmue": "resume",
    "staus": "status",
    "stauts": "status",
    "cpoy": "copy",
    "copu": "copy",
    "coyp": "copy",
    "ocpy": "copy",
    "copt": "copy",
    "mvoe": "move",
    "moev": "move",
    "snyc": "sync",
    "synch": "sync",
    "syncronize": "synchronize",
    "syncronise": "synchronise",
    "sycn": "sync",
    "snd": "send",
    "sedn": "send",
    "skp": "skip",
    "limt": "limit",
    "lmit": "limit",
    "evry": "every",
    "evrey": "every",
    "eveyr": "every",
    "ecnrypt": "encrypt",
    "vrify": "verify",
    "olny": "only",
    "onyl": "only",
    "jsut": "just",
    "befor": "before",
    "befroe": "before",
    "untill": "until",
    "atfer": "after",
    "aftr": "after",
    "strat": "start",
    "cpy": "copy",
    "encryptd": "encrypted",
    "encrypetd": "encrypted",
    "sycnh": "sync",
    "mve": "move",
    "delte": "delete",
    "dleete": "delete",
    "exculde": "exclude",
    "wih": "with",
    "evey": "every",
}
_SHORTEST = 4
_LONG = 9


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """Give the ordinary word that an unknown word is a slip of, or the word itself."""
    if word in _COMMON:
        return _COMMON[word]
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha() or word in REAL_WORDS:
        return word
    near = _within(word, 1)
    if not near and len(word) >= _LONG:
        near = _within(word, 2)
    return near[0] if len(near) == 1 else word


def _within(word: str, distance: int) -> list[str]:
    return [
        ordinary
        for ordinary in ORDINARY
        if abs(len(ordinary) - len(word)) <= distance
        and OSA.distance(word, ordinary, score_cutoff=distance) <= distance
    ]
