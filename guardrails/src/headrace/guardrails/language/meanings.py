"""What code works out of a phrase: the functions that rules of the grammar name with `@`."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount, Clock, Day, Doubt, Hours, Length, Place, Repeat, When
from headrace.guardrails.language.clock import settled
from headrace.guardrails.language.phrases import UNKNOWN_MARK, Hit, Reading, listed, plain_word, table
from headrace.guardrails.resolve.recurrence import RRULE_DAYS, days_between, repeat_on, with_day

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.language.phrases import Item

_UNIT_LENGTHS = {
    "hour": Length("hour", exact=timedelta(hours=1), unit="hour", count=1),
    "day": Length("day", days=1, unit="day", count=1),
    "week": Length("week", days=7, unit="week", count=1),
}
_NOT_PLANNED = "is not a repetition that can be planned"
_YEAR = re.compile(r"(?:19|20)\d\d", re.ASCII)
_MOST_TIMES = 24
_NOON = 12
_ALIKE = 3
_NUMBERED = re.compile(r"[\d.]+")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")


def names_of(hit: Hit) -> tuple[str, ...] | Doubt:
    """Give the globs of a phrase; a relative path such as raw/old is one, and "the .git folder" is no file.

    Of several names, "folder" is said of the one beside it, and "folders" of all, unless some are patterns of files.
    """
    found: list[str] = []
    for at, item in enumerate(hit.items):
        value = item.value
        if isinstance(value, tuple):
            before, after = _since_a_join(hit.items[max(0, at - 2) : at]), hit.items[at + 1 : at + 2]
            all_of_them = _any_of((*before, *after), "several_folders")
            if all_of_them and len(value) > 1 and any("*" in name for name in value):
                return Doubt(f"`{hit.words}`: say which are folders, each with a / behind it, such as old/")
            first, last = _any_of(before, "folder_noun"), _any_of(after, "folder_noun")
            ends = {*([0] if first else ()), *([len(value) - 1] if last else ())}
            folders = range(len(value)) if all_of_them else ends
            found.extend(f"{name.rstrip('/')}/" if n in folders else name for n, name in enumerate(value))
        elif isinstance(value, Place) and value.path is not None and value.name is None and value.path[0] != "/":
            found.append(value.path)
    if any(name.startswith("!") for name in found):
        return Doubt(f"`{hit.words}`: a pattern that begins with `!` denies nothing here: say only, or skip")
    return tuple(found)


def _since_a_join(items: Sequence[Item]) -> Sequence[Item]:
    """Give what belongs to the name behind it: "old/ folder and *.tmp" says "folder" of the first name alone."""
    joins = [at for at, item in enumerate(items, 1) if item.symbol in listed("joins_names", "as_well")]
    return items[joins[-1] :] if joins else items


def _any_of(items: Sequence[Item], group: str) -> bool:
    return any(item.symbol in listed(group) for item in items)


def overwriting(hit: Hit) -> Sequence[Reading]:
    """Tell "overwrite", which is clear, from "replace", which may mean both sides alike."""
    if hit.says("overwrites"):
        return (("on_conflict", "overwrite"),)
    return (("on_conflict", Doubt("say whether to overwrite files, or to make both sides the same")),)


def kept(hit: Hit) -> Sequence[Reading]:
    """Give the attributes before a "not": "keep timestamps, not permissions" keeps no more."""
    at = next((at for at, item in enumerate(hit.items) if item.symbol in listed("denies")), len(hit.items))
    wanted, unwanted = (
        Hit(items, "".join(f"{item.symbol} " for item in items), hit.words).members("attribute")
        for items in (hit.items[:at], hit.items[at:])
    )
    both = not set(wanted).isdisjoint(unwanted)
    return (("preserve", Doubt(f"`{hit.words}`: say what is kept, and only that") if both else wanted),)


def size_range(hit: Hit) -> Sequence[Reading]:
    """Read "between 1 and 10 GB": the unit of the second number is that of the first."""
    amounts = hit.all(Amount)
    if len(amounts) == 1:
        number = next(item.text for item in hit.items if item.symbol == "<num>")
        amounts.insert(0, _in_unit_of(amounts[0], number))
    least, most = amounts
    return (("min_size", least), ("max_size", most))


def _in_unit_of(amount: Amount, number: str) -> Amount:
    words = f"{number} {amount.words}"
    last = _NUMBERED.match(amount.words)
    if amount.value is None or last is None or not _NUMBER.fullmatch(number):
        return Amount(words, "unsure", None, f"`{words}`: write both sizes with their units")
    size = Fraction(amount.value) / Fraction(last[0]) * Fraction(number)
    if size.denominator != 1 or size <= 0:
        return Amount(words, "unsure", None, f"`{words}` is not a whole number")
    return Amount(words, "size", int(size))


def folder(hit: Hit) -> Sequence[Reading]:
    """Take the words before "folder" as its name, unless one may only describe the folder."""
    kinds, joins = listed("folder_noun", "several_folders"), listed("as_well")
    named = []
    for at, item in enumerate(hit.items):
        if item.symbol in kinds and hit.items[at - 1].value is None:
            named.append(hit.items[at - 1])
        if item.symbol in listed("several_folders"):
            first = max(number for number, one in enumerate(hit.items[:at]) if one.symbol in joins)
            named.append(hit.items[first - 1])
    return _folders(hit, named)


def folder_called(hit: Hit) -> Sequence[Reading]:
    """Take the words behind "folder" as its name; "the folder icons" may be no name."""
    kinds = listed("folder_noun", "several_folders")
    at = max(number for number, item in enumerate(hit.items) if item.symbol in kinds)
    between = listed("as_well", "names_a_folder")
    named = [item for item in hit.items[at + 1 :] if item.symbol not in between]
    if hit.says("names_a_folder"):
        return _excluded(hit, named)
    vague = hit.items[at - 1].symbol in listed("describing") and len(named) == 1 and named[0].text.isalpha()
    return _folders(hit, [*named, hit.items[at - 1]] if vague else named)


def _folders(hit: Hit, named: Sequence[Item]) -> Sequence[Reading]:
    if any(_describes(plain_word(item)) for item in named):
        return (("exclude", Doubt(f"`{hit.words}`: write the name of the folder, such as old/")),)
    return _excluded(hit, named)


def _excluded(hit: Hit, folders: Sequence[Item]) -> Sequence[Reading]:
    names = names_of(hit)
    others = (f"{item.text.rstrip('/')}/" for item in folders)
    return (("exclude", names if isinstance(names, Doubt) else (*names, *others)),)


def _describes(word: str) -> bool:
    """Say whether a word may say which folder, and not what it is called: "the largest folder", "Anna's folder"."""
    return word in listed("describing", "of_a_folder", "quality") or word.endswith("'s")


def of_kind(hit: Hit) -> Sequence[Reading]:
    """Take the endings that a word for a kind of files is explained by: "pngs only (*.png)"."""
    names = names_of(hit)
    kind = next(item.text.lower() for item in hit.items if item.symbol.startswith(UNKNOWN_MARK))
    if isinstance(names, tuple) and all(_is_of_kind(name, kind) for name in names):
        return (("include", names),)
    return (("include", Doubt(f"`{hit.words}`: say which files are meant, with only or skip")),)


def left_out_kind(hit: Hit) -> Sequence[Reading]:
    """Take the names in brackets for what is left out, unless the words before them may say which of these files."""
    end = next(at for at, item in enumerate(hit.items) if item.symbol == "<open>")
    said = [plain_word(item) for item in hit.items[:end] if item.symbol.startswith(UNKNOWN_MARK)]
    names, kind = names_of(hit), plain_word(hit.items[end - 1])
    spelled = isinstance(names, tuple) and all(any(word[:_ALIKE] in name.lower() for word in said) for name in names)
    if spelled or (said in ([], [kind]) and kind.endswith("s") and not _describes(kind)):
        return (("exclude", names),)
    return (("exclude", Doubt(f"`{hit.words}`: say only the names that are left out")),)


def prefix(hit: Hit) -> Sequence[Reading]:
    """Take the beginning of names: "files with the prefix run_"."""
    return (("include", (f"{hit.items[-1].value or hit.items[-1].text}*",)),)


def moment(slot: str, hit: Hit) -> Sequence[Reading]:
    """Take a time, or a length of time that ends now ("older than 30 days")."""
    lengths = hit.all(Length)
    if lengths:
        return ((slot, When(lengths[0].words, ago=lengths[0])),)
    value = hit.one(When)
    if any(f", {word} " in value.words.lower() for word in listed("before_an_hour")):
        return ((slot, Doubt(f"`{hit.words}`: say whether the hour belongs to that day, or is when it starts")),)
    return ((slot, value),)


def lately(slot: str, hit: Hit) -> Sequence[Reading]:
    """Read "in the past hour": as long ago as the unit says."""
    unit = next(item.symbol for item in hit.items if item.symbol in _UNIT_LENGTHS)
    return ((slot, When(hit.words, ago=replace(_UNIT_LENGTHS[unit], words=hit.words))),)


def by_rule(rule: str, hit: Hit) -> Sequence[Reading]:
    """Read "every hour on the hour", "every half hour": what a rule of the calendar says as well."""
    return (("repeat", Repeat(hit.words, "", rule=rule)),)


def in_year(hit: Hit) -> Sequence[Reading]:
    """Read "changed since 2025", "skip anything before 2025": from or to the first of January."""
    number = next(item.text for item in hit.items if item.symbol == "<num>")
    skips = any(f" {hit.line}".startswith(f" {word} ") for word in listed("skipping"))
    if not _YEAR.fullmatch(number) or (skips and hit.says("within_a_year")):
        before = hit.says("until_a_year") != skips
        return (("modified_before" if before else "modified_after", Doubt(f"`{hit.words}`: say the day")),)
    year = int(number)
    opens, closes = (When(hit.words, day=Day(exact=date(one, 1, 1))) for one in (year, year + 1))
    if hit.says("within_a_year") and not hit.says("until_a_year", "behind_a_year"):
        return (("modified_after", opens), ("modified_before", closes))
    later = hit.says("since_a_year", "behind_a_year")
    # What is after 2025 begins with 2026.
    bound = closes if hit.says("behind_a_year") else opens
    return (("modified_after" if later != skips else "modified_before", bound),)


def between(hit: Hit) -> Sequence[Reading]:
    """Read "between 08:00 and 12:00 today": two times of day, of one day if only the second says it."""
    *of, first, last = hit.all(When)
    if of and first.clock and last.clock and not (of[0].clock or of[0].part or first.day or last.day):
        # The day stands before both: "yesterday between 10:00 and 12:00".
        return tuple(
            (slot, replace(one, day=of[0].day, words=hit.words))
            for slot, one in (("modified_after", first), ("modified_before", last))
        )
    if of or first.clock is None or last.clock is None or (last.day is None and first.day is not None):
        doubt = f"`{hit.words}` does not say whether its last day belongs to it"
        return (("modified_after", first), ("modified_before", Doubt(doubt)))
    return (("modified_after", first if first.day else replace(first, day=last.day)), ("modified_before", last))


def whole_day(hit: Hit) -> Sequence[Reading]:
    """Read "yesterday's data": from the start of the day to its end; today and this week are not over."""
    when = hit.one(When)
    if when.day in (Day(offset=0), Day(week=0)) and when.clock is None and when.part is None:
        return (("modified_after", when),)
    return (("modified_after", when), ("modified_before", when))


def data_of_a_day(hit: Hit) -> Sequence[Reading]:
    """Read "yesterday's plates", unless a word that no phrase knows may say which of the files of that day."""
    said = {plain_word(item) for item in hit.items if item.symbol.startswith(UNKNOWN_MARK)}
    if said <= listed("data_as_a_whole"):
        return whole_day(hit)
    return (*whole_day(hit), ("include", Doubt(f"`{hit.words}`: write the names of the files, or a pattern")))


def later_that_day(hit: Hit) -> Sequence[Reading]:
    """Read "what was recorded yesterday after 09:30": from that time to the end of the day."""
    day, bound = _of_that_day(hit)
    today = day.day == Day(offset=0)
    return (("modified_after", bound),) if today else (("modified_after", bound), ("modified_before", day))


def earlier_that_day(hit: Hit) -> Sequence[Reading]:
    """Read "what was recorded yesterday before 09:30": from the start of the day to that time."""
    day, bound = _of_that_day(hit)
    return (("modified_after", day), ("modified_before", bound))


def _of_that_day(hit: Hit) -> tuple[When, When | Doubt]:
    """Give the day that is said first, and the time of it that is said then."""
    day, clock = hit.all(When)
    if day.clock or day.part or day.day is None or clock.clock is None or clock.day is not None:
        return day, Doubt(f"`{hit.words}` does not say exactly which files")
    return day, replace(clock, day=day.day, words=hit.words)


def ahead(slot: str, hit: Hit) -> Sequence[Reading]:
    """Read "in two hours"."""
    return ((slot, When(hit.words, ahead=hit.one(Length))),)


def hours(hit: Hit) -> Sequence[Reading]:
    """Read two clock times as a window, whether they were written as one word or as two."""
    ready = hit.all(Hours)
    if not ready and hit.items[0].symbol == "<when>" and _are_weekdays(hit.all(When)):
        return days_from_to(hit)
    opens, closes = (ready[0].opens, ready[0].closes) if ready else hit.all(When)
    return (("window", Hours(ready[0].words if ready else hit.words, opens, closes)),)


def days_from_to(hit: Hit) -> Sequence[Reading]:
    """Read "Mon-Fri at 19:00", "Monday to Friday at 7 pm"; "Monday to Friday 19:00" may be one long stretch."""
    named, whens = hit.all(Repeat), hit.all(When)
    if named:
        return (("repeat", replace(named[0], words=hit.words, clock=_clock(hit))),)
    if not _are_weekdays(whens):
        return (("window", Doubt(f"`{hit.words}`: say the hours as two clock times")),)
    first, last = whens
    before = bool(first.clock) and first.words.lower().split()[0] not in table("weekday") | table("weekdays")
    behind = bool(last.clock) and not listed("sets_a_clock_apart").isdisjoint(last.words.lower().split())
    clocks = [when for when in whens if when.clock]
    one_day = first.day and last.day and first.day.weekday == last.day.weekday
    if one_day or len(clocks) > 1 or (clocks and not before and not behind):
        return (("repeat", Doubt(f"`{hit.words}`: say on which days, and at what time of each")),)
    days = days_between(*(when.day.weekday or 0 for when in whens if when.day))
    clock = replace(clocks[0], day=None) if clocks else None
    return (("repeat", Repeat(hit.words, "WEEKLY", days=days, clock=clock)),)


def _are_weekdays(whens: Sequence[When]) -> bool:
    """Say whether all are days of the week, and of no one week."""
    return all(
        when.day and when.day.weekday is not None and not when.day.which and not when.part and not when.doubt
        for when in whens
    )


def hours_around(hit: Hit) -> Sequence[Reading]:
    """Read "outside 08:00-18:00" as the hours from 18:00 to 08:00."""
    return tuple(
        (slot, Hours(hit.words, said.closes, said.opens)) for slot, said in hours(hit) if isinstance(said, Hours)
    )


def day_then_clock(slot: str, hit: Hit) -> Sequence[Reading]:
    """Read "on Friday, by 17:00": one deadline, or a start ("in an hour") and a deadline."""
    day, clock = hit.all(When)
    # "Tomorrow morning, done by 20:00" starts in the morning; "tonight, starting at 20:00" is one start.
    part = day.part if slot == "start" else None
    if day.day and day == When(day.words, day=day.day, part=part) and clock.day is None:
        return ((slot, settled(replace(clock, day=day.day, part=clock.part or part, words=hit.words))),)
    return (("start", day), (slot, clock))


def days_or_starts(hit: Hit) -> Sequence[Reading]:
    """Read "Mondays and Thursdays at 6pm" as a repetition; anything else is two times."""
    whens = hit.all(When)
    if all(when.day is not None and when.day.plural for when in whens):
        return (("repeat", repeat_on(hit.words, whens)),)
    return tuple(("start", when) for when in whens)


def bare_hour(slot: str, hit: Hit) -> Sequence[Reading]:
    """Read "by 6": an hour that may be morning or evening."""
    number = next(item.text for item in hit.items if item.symbol == "<num>")
    if not number.isdecimal() or not 1 <= int(number) <= _NOON:
        return ((slot, Doubt(f"`{hit.words}` has no exact time: say it as a time of day or a date with one")),)
    doubt = f"`{hit.words}` can be morning or evening"
    return ((slot, When(hit.words, clock=Clock(int(number), bare=True, doubt=doubt))),)


def in_days(slot: str, hit: Hit) -> Sequence[Reading]:
    """Read "in two days at 09:00": a day that is so far away, and its clock."""
    length, when = hit.one(Length), hit.all(When)[-1]
    if length.exact is not None or length.doubt or when.day is not None or when.clock is None:
        return ((slot, Doubt(f"`{hit.words}` is not one day and one time of day")),)
    return ((slot, replace(when, words=hit.words, day=Day(offset=length.days))),)


def repeat(hit: Hit) -> Sequence[Reading]:
    """Read "every night", "weekly on Monday"."""
    word = next(item.symbol for item in hit.items if item.symbol in table("frequency"))
    part = word if word in listed("day_part") else None
    again = Repeat(hit.words, table("frequency")[word].upper(), 1 + hit.says("every_other"), part=part)
    return (("repeat", with_day(again, _clock(hit))),)


def repeat_in_steps(hit: Hit) -> Sequence[Reading]:
    """Read "every 4 hours"."""
    length = hit.one(Length)
    unit, count = length.unit, length.count
    if length.exact is not None:
        # "Every 1.5 hours" is every 90 minutes.
        minutes, rest = divmod(length.exact.total_seconds(), 60)
        whole = not minutes % 60
        unit, count = ("", 0) if rest else ("hour", int(minutes) // 60) if whole else ("minute", int(minutes))
    freq = table("frequency").get(unit, "yearly").upper()
    if freq == "YEARLY" or count < 1 or (length.doubt and unit != "month"):
        return _not_planned(hit)
    return (("repeat", with_day(Repeat(hit.words, freq, count), _clock(hit))),)


def repeat_on_days(hit: Hit) -> Sequence[Reading]:
    """Read "every Monday and Thursday at 6pm": days from each part, the clock from the one with it."""
    return (("repeat", repeat_on(hit.words, hit.all(When), 1 + hit.says("every_other"))),)


def monthly_weekday(hit: Hit) -> Sequence[Reading]:
    """Read "the first Monday of each month"."""
    day, ordinals = hit.all(When)[0].day, hit.members("ordinal")
    which = ordinals[0] if ordinals else "-1" if day and day.which == "last" else ""
    if day is None or day.weekday is None or not which:
        return _not_planned(hit)
    code = f"{which}{RRULE_DAYS[day.weekday]}"
    clock = next((found for found in hit.all(When) if found.clock), None)
    return (("repeat", Repeat(hit.words, "MONTHLY", days=(code,), clock=clock)),)


def _is_of_kind(name: str, kind: str) -> bool:
    """Say whether one of a name's endings is that kind: `*.fastq.gz` are FASTQ files."""
    return any(ending[:_ALIKE].lower() == kind[:_ALIKE] for ending in name.split(".")[1:])


def monthly_day(hit: Hit) -> Sequence[Reading]:
    """Read "the 3rd of each month", "the last Sunday of each month"."""
    day = hit.all(When)[0].day if hit.all(When) else None
    if day is not None and day.weekday is not None and day.which == "last":
        return monthly_weekday(hit)
    if ordinals := hit.members("ordinal"):
        return (("repeat", Repeat(hit.words, "MONTHLY", monthdays=(int(ordinals[0]),), clock=_clock(hit))),)
    return (("repeat", repeat_on(hit.words, hit.all(When))),)


def rrule(hit: Hit) -> Sequence[Reading]:
    """Take an RRULE as it is written."""
    text = next(str(item.value) for item in hit.items if item.symbol == "<rrule>")
    return (("repeat", Repeat(hit.words, "", rule=text.upper().removeprefix("RRULE:"))),)


def times_a_day(hit: Hit) -> Sequence[Reading]:
    """Read "twice a day"; its clock times are named elsewhere."""
    named = [*hit.members("times"), *(item.text for item in hit.items if item.symbol == "<num>")]
    count = int(named[0]) if named and named[0].isdecimal() else 0
    if not 1 <= count <= _MOST_TIMES or any(length.days != 1 for length in hit.all(Length)):
        return _not_planned(hit)
    return (("repeat", Repeat(hit.words, "DAILY", times=count)),)


def hours_a_day(hit: Hit) -> Sequence[Reading]:
    """Read "every day at 01:00 and 13:00"."""
    clocks = tuple(hit.all(When))
    return (("repeat", Repeat(hit.words, "DAILY", times=len(clocks), clocks=clocks)),)


def _not_planned(hit: Hit) -> Sequence[Reading]:
    return (("repeat", Doubt(f"`{hit.words}` {_NOT_PLANNED}")),)


def _clock(hit: Hit) -> When | None:
    found = hit.all(When)
    return found[-1] if found else None


def weekly(days: str, hit: Hit) -> Sequence[Reading]:
    """Read "every weekday", "every weekend"."""
    return (("repeat", Repeat(hit.words, "WEEKLY", days=tuple(days.split(",")), clock=_clock(hit))),)


def who(hit: Hit) -> Sequence[Reading]:
    """Give the transfer that a phrase names: its id, the last plan by its name, or "it"."""
    found: list[Reading] = []
    for item in hit.items:
        if item.symbol == "<id>":
            found.append(("id", str(item.value)))
        elif item.symbol == "<ref>":
            found.append(("named", str(item.value)))
    mine = hit.says("before_a_transfer") and hit.says("one_transfer_by_name")
    if not found and (mine or hit.says("stands_for_a_transfer")):
        found.append(("it", hit.words))
    return found


def about(hit: Hit) -> Sequence[Reading]:
    """Give the transfer that a phrase names, and the state of those it means."""
    return [*who(hit), *(("state", state) for state in hit.members("state")[:1])]


def whether_all(hit: Hit) -> Sequence[Reading]:
    """Note an "all" or "every" in a list request."""
    return (("all", hit.words),) if hit.says("each_of_them") else ()


def same(hit: Hit) -> Sequence[Reading]:
    """Give the name that the last plan is to be repeated for."""
    named = [item for item in hit.items if item.value is not None or item.symbol.startswith(UNKNOWN_MARK)]
    return (("same", named[-1].text),)


def flag_names(slot: str, hit: Hit) -> Sequence[Reading]:
    """Give the pattern after a command's option."""
    value = hit.items[-1].value
    return ((slot, value if isinstance(value, tuple) else (hit.items[-1].text,)),)


def flag_amount(slot: str, hit: Hit) -> Sequence[Reading]:
    """Give the amount after a command's option, or ask for its unit."""
    found = hit.all(Amount)
    return ((slot, found[0] if found else Doubt(f"`{hit.words}` has no unit that says bits or bytes")),)


MEANINGS: dict[str, Callable[..., Sequence[Reading]]] = {
    made.__name__: made
    for made in (
        about, ahead, bare_hour, between, by_rule,
        data_of_a_day, day_then_clock, days_from_to, days_or_starts, earlier_that_day, flag_amount, flag_names,
        folder, folder_called, hours, hours_a_day, hours_around, in_days, in_year, kept, lately,
        later_that_day, left_out_kind, moment, monthly_day, monthly_weekday, of_kind,
        overwriting, prefix, repeat, repeat_in_steps, repeat_on_days, rrule, same,
        size_range, times_a_day, weekly, whether_all, who, whole_day,
    )
}  # fmt: skip
