"""Recognises how a transfer is done: encryption, checks, conflicts, priority, attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.intents.values import Verify
from headrace.guardrails.language.phrases import Hit, Reading, choices, rule, say

if TYPE_CHECKING:
    from collections.abc import Sequence

ENCRYPTION_RULES = (
    *say(
        "encrypted",
        "encryption",
        True,  # noqa: FBT003 (the slot's value)
        """
            encrypted|encrypt [{it}] [all]|use encryption|using encryption|with encryption|with encryption on
            |encryption on|turn on encryption|turn encryption on|enable encryption|encryption enabled|switch on
            encryption|switch encryption on|add encryption|over tls|with tls|via tls|use tls|using tls|over ssl
            |encrypting {it}|encrypt in transit|encrypted in transit|encrypted over the wire|encrypt over the wire
            |and encrypted|fully encrypted|securely encrypted|keep {it} encrypted|{sure} {it} {is} encrypted|{sure}
            to encrypt {it}|send {it} encrypted|it {is} encrypted|must be encrypted|has to be encrypted|should be
            encrypted|needs to be encrypted|{sure} {it} encrypted|encryption : (on|yes|true|required)|encryption =
            (on|true|yes)|encryption {is} (on|mandatory|required|enabled|a must)|encryption (required|mandatory)
            |with encryption turned on
            """,
        "encryption (isn't|is not|not) (optional|negotiable)",
        "({not}|never) (disable|turn off|switch off|skip|drop|remove) [the] encryption",
        """
            ({not}|never) turn encryption off|never unencrypted|not unencrypted|never in (the clear|plaintext|plain
            text|clear text|cleartext)|not in (the clear|plaintext|plain text|cleartext)|never without encryption
            |not without encryption|{not} (send|copy|transfer) {it} (unencrypted|in the clear|in plaintext)|keep
            encryption on|leave encryption on|with encryption enabled
            """,
    ),
    *say(
        "not encrypted",
        "encryption",
        False,  # noqa: FBT003 (the slot's value)
        """
            unencrypted|not encrypted|no encryption|without encryption|without encrypting [{it}]|{not} encrypt
            [{it}]|{needless} encrypt [{it}]|{needless} encryption|{needless} be encrypted|encryption off|with
            encryption off|turn off [the] encryption|turn [the] encryption off|disable [the] encryption|encryption
            disabled|switch off [the] encryption|switch encryption off|skip [the] encryption|drop [the] encryption
            |remove [the] encryption|in the clear|in plaintext|in plain text|in cleartext|in clear text|plaintext
            |cleartext|without tls|no tls|non encrypted|encryption : (off|no|false|none)|encryption = (off|false|no
            |none)|{not} use encryption|{not} be encrypted|with no encryption|without any encryption
            """,
    ),
    *say(
        "encryption left open",
        "encryption",
        Doubt("it is not clear whether the transfer must be encrypted"),
        """
            encryption (isn't|is not|not) (needed|required|necessary|important|mandatory)|encryption is (optional
            |needed|necessary|important)
            """,
        "encrypt (if possible|when possible|where possible|if needed|at rest)",
        "encrypted (if possible|when possible|where possible|if needed|at rest)",
        "encryption (if possible|optional|at rest|not (needed|required|necessary))",
        "(less|weaker|lighter|stronger|strong|better|more) encryption|with (aes|aes256|gpg|ssh|pgp)",
    ),
)

_ALGORITHMS = {
    "blake3": "blake3|b3|blake 3|blake-3|b3sum",
    "sha256": "sha256|sha-256|sha 256|sha2-256|sha256sum|sha_256|sha256sums",
    "sha1": "sha1|sha-1|sha 1|sha1sum",
    "md5": "md5|md5sum|md-5|md 5|md5sums",
    "crc32c": "crc32c|crc-32c|crc 32c|crc32-c",
}
_UNSUPPORTED = """
    sha512|sha-512|sha 512|sha384|sha-384|sha224|sha2|sha-2|sha3|sha-3|sha|crc32|crc-32|crc|blake2|blake2b|blake
    |xxhash|xxh3|xxh64|adler32|adler|crc64|md4|etag|etags|sha512sum|crc64nvme
    """
_CHECK = """
    [and] [also] [then] [please] (verify|verifying|verified|check|checking|checked|checksum|checksums|checksummed
    |checksumming|validate|validated|hash|hashed|verification|integrity|integrity check|compare|use|using|run) [{it}
    |all files|every file|the checksums|checksums|integrity|the integrity|the files|files|the result|the copy
    |afterwards] (with|by|using|via|through|against|:|=|is|to be|as) [a|the|its|their]
    """
_HOW = f"[{_CHECK}|with|using|use|via|by|and]"
_SUFFIX = """
    [checksum|checksums|check|checks|verification|hash|hashes|sum|sums|digest|digests|checksumming|integrity checks
    |verified|checked|please]
    """


def _algorithm(name: str) -> list[str]:
    return [f"{_HOW} ({_ALGORITHMS[name]}) {_SUFFIX}", f"(verify|checksum|check|hash) ({_ALGORITHMS[name]})"]


VERIFY_RULES = (
    *(
        found
        for name in get_args(Verify)
        if name in _ALGORITHMS
        for found in say(f"verify with {name}", "verify", name, *_algorithm(name))
    ),
    *say(
        "verify",
        "verify",
        "default",
        """
            (verify|verifying|checksum|checksumming|validate) [{it}|all files|every file|each file|the files|all
            |checksums|the checksums|integrity|the integrity|the result|the copy|files|the data|all data]
            [afterwards|after copying|when done|at the end|on arrival|at rest|too|as well|please|after the copy|once
            done|on both ends|at the destination|on the other side]
            """,
        """
            verified|checksummed|with (verification|checksums|checksum|integrity checks|checksumming|integrity
            checking|a checksum|verification on|verification enabled|integrity verification)|integrity checked
            |{sure} {it} {is} (verified|checksummed|intact)|turn on verification|verify integrity|and verified|check
            (the integrity|integrity|checksums|the checksums|all checksums)|compare checksums|enable verification
            |verification on|verification {is} (on|required|mandatory)|full verification|{sure} to verify [{it}]
            |verification (required|mandatory)|must be verified|has to be verified|should be verified|needs to be
            verified|{sure} (the checksums|checksums) match|use checksums|using checksums
            """,
        """
            ({not}|never) (skip|disable|turn off|forget|omit|drop|leave out|switch off) [the] (verification|checksum
            |checksums|verify|integrity check|checks|integrity checks|verifying)
            """,
        """
            ({not}|never) forget to verify [{it}]|never unverified|not unverified|never without verification|not
            without verification|verification (isn't|is not) optional
            """,
    ),
    *say(
        "not verified",
        "verify",
        "none",
        """
            (no|without [any|a]|skip [the]|skipping [the]|disable [the]|turn off [the]|switch off [the]|drop [the]
            |omit [the]|{needless}|leave out [the]|with no|forget [the]) (verification|verify|checksum|checksums
            |verifying|checking|integrity check|integrity checks|checksumming|checksum verification|validation
            |hashing|integrity checking|checksum check|hash check) [{it}]
            """,
        """
            ({not}|{needless}) (verify|checksum|validate|check) [{it}|afterwards|the result|the files|the copy
            |checksums|the checksums|integrity|the integrity|anything|files]
            """,
        """
            unverified|not verified|verification off|verify off|{not} use checksums|{not} be verified|verification
            disabled|verify nothing|check nothing|checksum nothing|turn verification off|turn checksums off
            |checksums off|no verify|verify = (none|no|off|false)|verify : (none|no|off)|verification (none|= none|:
            none)|{needless} be (verified|checked)|{not} bother (verifying|checking|with verification|with
            checksums)|verify none|set verify to none|no integrity verification
            """,
    ),
    *rule(
        "not that algorithm",
        lambda _hit: (),
        f"(instead of|rather than) ({'|'.join(_ALGORITHMS.values())}|{_UNSUPPORTED})",
    ),
    *say(
        "check that is not known",
        "verify",
        Doubt("a transfer can be verified with blake3, sha256, sha1, md5 or crc32c"),
        f"{_HOW} ({_UNSUPPORTED}) {_SUFFIX}",
        f"{_CHECK} <any>",
        "verification (isn't|is not|not) (needed|required|necessary|important)",
        "(verify|checksum|verification) (if possible|optional|only some|a sample|a few|where possible)",
        "(spot check|spot-check|double check|double-check) [{it}]",
    ),
)

_EXISTING = """
    [any|anything|any of|the|all|those|what is|what's|everything] [that is|that's|which is] [already] [existing
    |present] (files|file|there|data|ones|existing|exists|exist|anything|content|contents|stuff|copies|versions
    |everything|destination|target|it|them|those|that) [that already exist|that exist|already there|that are there
    |that is there|there|at the destination|on the destination|in the destination|that's already there|that are
    already there|which exist|at the other end|on the other side|that is already there|already at the destination
    |present]
    """
_NEWER = """
    [any|the] (newer|more recent) (files|ones|data|copies|versions) [there|at the destination|on the destination
    |over there]
    """
CONFLICT_RULES = (
    *say(
        "keep what is there",
        "on_conflict",
        "skip",
        f"""
            ({{not}}|without|no) (overwrite|overwriting|replace|replacing|clobber|clobbering|touch|touching
            |overwrites|clobbers|stomp on|stomping on) [{_EXISTING}]
            """,
        f"""
            (skip|skipping|keep|keeping|leave|leaving|preserve|ignore|ignoring) {_EXISTING} [alone|as is|as they are
            |untouched|in place|unchanged|be]
            """,
        """
            (skip|skipping|ignore|ignoring|keep|leave) (existing|existing files|files that exist|files that already
            exist|files already there|what exists|what already exists|already existing files|what is already there
            |what's already there|existing ones|files which already exist|those that exist|duplicates that exist)
            [alone|as is|untouched]
            """,
        """
            (skip|ignore|keep existing|leave existing) (on conflict|on conflicts|conflicts|if it exists|if they
            exist|if it already exists|when it exists|if present)
            """,
        """
            (overwrite nothing|no overwrite|no overwriting|no clobber|no-clobber|never overwrite anything|without
            overwriting anything|nothing {is} overwritten|nothing may be overwritten|{not} overwrite anything
            |nothing should be overwritten|nothing must be overwritten|no overwrites)
            """,
        "on conflict [,|:] (skip|keep existing|keep the existing|skip it|keep the old one|leave {it})",
        """
            {sure} nothing {is} overwritten|{sure} (that nothing|nothing) gets overwritten|{sure} you {not}
            overwrite (anything|existing files)
            """,
        """
            (existing files|existing ones|existing data|what's there|what is there) (stay|stays|must stay|should
            stay|remain|{is} kept|must not be overwritten|should not be overwritten|must not be touched|{is} left
            alone|must be kept) [as is|untouched|as they are]
            """,
    ),
    *say(
        "unless it is there",
        "on_conflict",
        "skip",
        "(unless|except if) (it|they|the file|a file|the files|one) [already] (exists|exist|is there|are there)",
        "[only] if (it|they) (doesn't|does not|don't|do not) [already] exist [yet|there|at the destination]",
        "[only] if [it is|it's|they are] (missing|absent) [there|at the destination]|[only] if not [already] there",
    ),
    *say(
        "overwrite",
        "on_conflict",
        "overwrite",
        f"(overwrite|overwriting|replace|replacing|clobber|clobbering) [{_EXISTING}]",
        """
            overwrite (on conflict|conflicts|whatever is there|whatever's there|what exists|if it exists|if they
            exist|if needed|if necessary|all|as needed|where needed|if present|old files|the old files|the old ones
            |old ones)
            """,
        f"""
            (allow overwriting|allow overwrites|with overwrite|with overwriting|overwrite on|force overwrite|force
            overwriting|overwrite allowed|overwriting allowed|and overwrite|(overwriting|overwrite|to overwrite) is
            (ok|fine|okay)|overwrites are (ok|fine|okay)|ok to overwrite|okay to overwrite|fine to overwrite|it's ok
            to overwrite|it's fine to overwrite|you may overwrite|you can overwrite|feel free to overwrite)
            [{_EXISTING}]
            """,
        """
            on conflict [,|:] (overwrite|replace)|on_conflict = overwrite|existing files {is} (overwritten|replaced)
            |existing files (may|can|should|must|will) be (overwritten|replaced)
            """,
    ),
    *say(
        "fail on conflict",
        "on_conflict",
        "fail",
        """
            (fail|abort|error|error out|stop with an error|bail out|give up|raise an error) (on [any] (conflict
            |conflicts)|if (it|they|a file|any file|anything|something|files|any|the file|the destination|the target
            |one) [already] (exists|exist|is there|is already there|conflicts)|when (a file|it|files|something
            |anything) [already] (exists|exist)|if there (is a conflict|are conflicts|are any conflicts|is any
            conflict)|on existing files|rather than overwrite|instead of overwriting)
            """,
        "on conflict [,|:] (fail|abort|error)|on_conflict = fail|fail rather than overwrite",
    ),
    *say(
        "newer wins",
        "on_conflict",
        "newer",
        f"{{not}} (overwrite|replace|clobber|touch) {_NEWER}",
        f"(without overwriting|without replacing|keep|skip|skipping|leave) {_NEWER} [alone|as they are]",
        """
            (overwrite|replace) only (older [files|ones|copies]|if newer|when newer|if the source is newer|if it is
            newer|if it's newer|what is older|files that are older|when the source is newer)
            """,
        """
            only (overwrite|replace) (older [files|ones|copies]|if newer|when newer|if the source is newer|if it's
            newer|files that are older|what is older|if ours is newer|when the source is newer|if the source file is
            newer|if it is newer)
            """,
        """
            (overwrite|replace|update) (if newer|when newer|older [files|ones|copies]|if the source is newer|if it's
            newer|if it is newer|with newer|existing files if newer|existing if newer|existing ones if newer
            |existing files only if newer|existing files when newer|if ours is newer)
            """,
        """
            (newer wins|newest wins|keep the newer [one|file|version|copy]|keep the newest [one|file|version]|keep
            newer|keep newest|on conflict [,|:] (newer|keep newer|newer wins|keep the newer [one]|take the newer
            [one])|the newer (one|file|version) wins|latest wins|prefer newer|take the newer [one])
            """,
        "[only] if (newer|it is newer|it's newer|they are newer|they're newer|the source is newer)",
        "overwrite older files only|overwrite only older files at the destination",
    ),
    *say(
        "conflict left open",
        "on_conflict",
        Doubt("say what happens to a file that is already there: skip, overwrite, fail or newer"),
        """
            (ask|prompt|rename|merge|back up|keep both|use your judgement) (on conflict|on conflicts|if it exists|if
            they exist|before overwriting|existing files|in case of conflict)
            """,
        "keep both|keep both versions|force [it]|ask before overwriting|rename [on] conflicts",
        """
            overwrite (some|a few|most|certain|different|changed|the changed|smaller|larger|corrupt|broken|damaged
            |bad) (files|ones|of them|of it)
            """,
    ),
)

_LEVEL = {"high": "high", "low": "low", "normal": "normal|default|medium|regular|standard|ordinary"}


def _priority(hit: Hit) -> Sequence[Reading]:
    level = next(name for name in _LEVEL if hit.has(*choices(_LEVEL[name])))
    return (("priority", level),)


_LEVELS = "(high|low|normal)"
PRIORITY_RULES = (
    *rule(
        "priority",
        _priority,
        f"""
            [at|with|in|on|as|and|a|with a|at a|make {{it}}|make {{it}} a|set {{it}} to|set to|bump {{it}} to|bump
            {{it}} up to|raise {{it}} to|lower {{it}} to|drop {{it}} to|change {{it}} to|give {{it}}|give {{it}} a
            |run {{it}} at|run at|run {{it}} with|put {{it}} on|put {{it}} at|switch {{it}} to|move {{it}} to|mark
            {{it}} as|mark {{it}}|use|using|treat {{it}} as|of|keep {{it}} at|bump to|up to|down to|back to|start
            {{it}} at|start {{it}} with|queue {{it}} at|it {{is}}|this {{is}}] {_LEVELS} (priority|prio)
            """,
        f"""
            [with|set|set the|set its|change the|change|make|make the|raise the|lower the|raise|lower|and|the|its
            |bump the|drop the|put the] (priority|prio) [of {{it}}] [to|of|=|:|is|level|should be|at|set to|up to
            |down to] {_LEVELS}
            """,
    ),
    *say(
        "urgent",
        "priority",
        Doubt("the priority is low, normal or high", reading="high"),
        """
            [it's|it is|this is|this one is|that is|that's|they are] [very|really|rather|quite|a bit|most]
            (urgent|important|time critical|time-critical) [:|-]|urgently|asap|as soon as possible|right away
            please|with urgency
            """,
    ),
    *say(
        "priority left open",
        "priority",
        Doubt("the priority is low, normal or high"),
        """
            [{cap}] (top|highest|higher|lower|lowest|urgent|max|maximum|medium|critical|utmost|more|less|extra|some
            |minimum|important|default|regular|standard|medium-high|very high|very low|medium high) (priority|prio)
            """,
        "(raise|lower|bump|bump up|increase|decrease|reduce|change|boost|drop) (the|its) (priority|prio)",
        "(priority|prio) (up|down|higher|lower|<num>|urgent|critical|top|max|medium)",
        "(prioritise|prioritize|deprioritise|deprioritize|expedite|fast-track|fast track|rush) [{it}|this]",
        """
            (in the background|in background|as a
            background job|when you get a chance|whenever convenient|no rush|no hurry)
            """,
        "give {it} priority|with priority",
    ),
)

_ATTRIBUTES = {
    "timestamps": """
        timestamps|timestamp|mtimes|mtime|modification times|modification time|times|time stamps|file times
        |modification dates|dates|time stamp|mod times|modified times|file dates|file timestamps
        """,
    "permissions": """
        permissions|permission|perms|modes|mode bits|file modes|file permissions|mode|access rights|permission bits
        |unix permissions|posix permissions
        """,
    "symlinks": "symlinks|symlink|symbolic links|soft links|links|sym links",
    "xattrs": "xattrs|xattr|extended attributes|extended attrs",
}
_ANY_ATTRIBUTE = f"[the|all|all the|file|original|their|its|all of the] ({'|'.join(_ATTRIBUTES.values())})"
_MORE = f"(,|and|, and|&|plus|as well as) [also] {_ANY_ATTRIBUTE}"
_KEEP = """
    preserve|preserving|keep|keeping|retain|retaining|maintain|maintaining|with|including|and keep|and preserve
    |{sure} to keep|{sure} to preserve|also keep|also preserve|conserve
    """


def _attributes(hit: Hit) -> Sequence[Reading]:
    said = f" {hit.line}"
    found = [
        name
        for name, spellings in _ATTRIBUTES.items()
        if any(f" {spelling} " in said for spelling in choices(spellings))
    ]
    return (("preserve", tuple(found)),)


PRESERVE_RULES = (
    *rule(
        "attributes to keep",
        _attributes,
        f"""
            ({_KEEP}) {_ANY_ATTRIBUTE} [{_MORE}] [{_MORE}] [{_MORE}] [intact|as they are|as is|unchanged|too|as well
            |as links|as symlinks]
            """,
        f"""
            {_ANY_ATTRIBUTE} [{_MORE}] [{_MORE}] [{_MORE}] (preserved|kept|intact|retained|{{is}} preserved|{{is}}
            kept|should be preserved|should be kept|must be kept|must be preserved|unchanged)
            """,
    ),
    *say(
        "attributes left open",
        "preserve",
        Doubt("what can be kept is timestamps, permissions, symlinks and xattrs"),
        f"""
            ({_KEEP}) [the|all|file|their] [{_ANY_ATTRIBUTE} and] (ownership|owner|owners|group|groups|acls|acl
            |attributes|attrs|metadata|hard links|hardlinks|everything|meta data|owner and group|all attributes|file
            attributes|selinux|capabilities|uid|gid|atime|atimes|creation times|birth times|ctime|file metadata)
            [{_MORE}]
            """,
        f"({{not}}|without|no|{{needless}}) (preserve|preserving|keep|keeping|retain) {_ANY_ATTRIBUTE}",
        f"(no|without|drop|ignore|skip) {_ANY_ATTRIBUTE}",
        "(follow|following|dereference|resolve|copy) [the|all] (symlinks|symbolic links|links)",
    ),
)

RULES = (
    *ENCRYPTION_RULES,
    *VERIFY_RULES,
    *CONFLICT_RULES,
    *PRIORITY_RULES,
    *PRESERVE_RULES,
)
