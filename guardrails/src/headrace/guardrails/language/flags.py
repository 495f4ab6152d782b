"""Recognises options of command lines that people paste: --delete, --bwlimit, --exclude and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount, Doubt, Value
from headrace.guardrails.language.phrases import Hit, Reading, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# An option without its command is a file name or a slip, never a wish.
FLAG: Reading = ("flag", "")
_JOIN = "[=]"


def _globs(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    def make(hit: Hit) -> Sequence[Reading]:
        value = hit.items[-1].value
        return ((slot, value if isinstance(value, tuple) else (hit.items[-1].text,)), FLAG)

    return make


def _amount(slot: str) -> Callable[[Hit], Sequence[Reading]]:
    def make(hit: Hit) -> Sequence[Reading]:
        found = hit.all(Amount)
        doubt = Doubt(f"`{hit.words}` has no unit that says bits or bytes")
        value: Value = found[0] if found else doubt
        return ((slot, value), FLAG)

    return make


def _flag(name: str, slot: str, value: Value, source: str) -> list[Rule]:
    """Rules for options that stand alone, with or without the word "with" before them."""
    return rule(name, lambda _hit: ((slot, value), FLAG), f"[with|using] ({source})")


_PATTERN = "(<globs>|<names>|<rel>|<any>|<ref>|<path>)"
_QUANTITY = "(<size>|<qty>|<num>|<rate>)"
RULES = (
    *rule("--exclude", _globs("exclude"), f"(--exclude|-x|--skip|--ignore) {_JOIN} {_PATTERN}"),
    *rule("--include", _globs("include"), f"(--include|--only) {_JOIN} {_PATTERN}"),
    *rule("--min-size", _amount("min_size"), f"--min-size {_JOIN} {_QUANTITY}"),
    *rule("--max-size", _amount("max_size"), f"--max-size {_JOIN} {_QUANTITY}"),
    *rule(
        "--bwlimit",
        _amount("rate_limit_bps"),
        f"""
            (--bwlimit|--bandwidth-limit|--limit-rate|--rate-limit|--rate|--limit|--max-rate|--bandwidth) {_JOIN}
            {_QUANTITY}
            """,
    ),
    *_flag(
        "--delete",
        "delete_extraneous",
        True,  # noqa: FBT003
        "--delete|--del|--delete-after|--delete-before|--delete-during|--delete-delay|--delete-extraneous|--prune",
    ),
    *_flag(
        "--delete-excluded",
        "delete_extraneous",
        Doubt("excluded files are never deleted: use --delete"),
        "--delete-excluded",
    ),
    *_flag(
        "--remove-source-files",
        "delete_source",
        True,  # noqa: FBT003 (the slot's value)
        "--remove-source-files|--delete-source|--remove-source|--move",
    ),
    *_flag("--ignore-existing", "on_conflict", "skip", "--ignore-existing|--no-clobber|--skip-existing|--no-overwrite"),
    *_flag("--update", "on_conflict", "newer", "--update"),
    *_flag("--overwrite", "on_conflict", "overwrite", "--overwrite"),
    *_flag(
        "--force",
        "on_conflict",
        Doubt("say what to force: overwrite, skip, fail or newer"),
        "-f|--force|-i|--interactive|--inplace|-rf|-fr",
    ),
    *_flag("-n for cp", "on_conflict", Doubt("`-n` means no overwriting for cp and a dry run for rsync"), "-n"),
    *_flag("-u", "on_conflict", Doubt("`-u` keeps newer files for cp and rsync: say newer"), "-u"),
    *_flag("--encrypt", "encryption", True, "--encrypt|--encrypted|--encryption|--tls|--secure"),  # noqa: FBT003
    *_flag("--no-encryption", "encryption", False, "--no-encryption|--no-encrypt|--unencrypted|--plaintext|--insecure"),  # noqa: FBT003
    *_flag("--verify", "verify", "default", "--verify|--checksum|--verify-checksum"),
    *_flag(
        "--no-verify",
        "verify",
        "none",
        "--no-verify|--no-checksum|--no-verify-checksum|--skip-verify|--no-check|--skip-checksum",
    ),
    *_flag("-c", "verify", Doubt("say how to verify: blake3, sha256, sha1, md5 or crc32c"), "-c|--check"),
    *_flag(
        "--times",
        "preserve",
        ("timestamps",),
        "-t|--times|--preserve-times|--preserve-timestamps|--preserve-mtime|--keep-timestamps",
    ),
    *_flag("--perms", "preserve", ("permissions",), "--perms|--preserve-permissions|--preserve-perms|--chmod"),
    *_flag("--links", "preserve", ("symlinks",), "--links"),
    *_flag("--xattrs", "preserve", ("xattrs",), "--xattrs"),
    *_flag(
        "attributes in a letter",
        "preserve",
        Doubt("say what to keep: timestamps, permissions, symlinks, xattrs"),
        """
            -a|--archive|-av|-avz|-avh|-avp|-avzp|-avzh|-ah|-ap|-az|-rlpt|-rltp|-rtv|-rlptv|-avr|-auv|-avu|-avx
            |-avhp|-axv|-ahv|-aq|-avi|-avn|-anv|-avzn|-p|-rp|--preserve|-l|-rpv|-pr|--owner|--group|-o|-g|-x|--acls
            |-h|--hard-links|-e|-vap|-va|-vaz|-azv|-azvp|-azp|-rt|-d|-aup|-rv --preserve
            """,
    ),
    *rule(
        "as always",
        lambda _hit: (),
        "-r|-v|-vv|-q|--recursive|-rv|-vr|--verbose|--quiet|--progress|--stats|-R|--human-readable|--partial|--info",
    ),
    *_flag(
        "dry run",
        "action",
        Doubt("every request makes a plan first, and nothing moves before it is submitted: leave the dry run out"),
        """
            --dry-run|--dryrun|dry run|dry-run|[just|only] (a|as a|do a|in a) (dry run|dry-run|test run)|simulate
            |simulation mode|simulate it|without actually (copying|moving|doing it|doing anything)|--simulate
            |--what-if|--list-only
            """,
    ),
)
