"""Texts of links, classes and calendars: one that is right, and what can be wrong with one, by name."""

STANDING = '[[class]]\nname = "background"\n{0}[[class]]\nname = "bulk"\n{0}[[class]]\nname = "priority"\n{0}'
LINK = '[[link]]\nname = "uplink"\nrate_bps = 80_000_000\nnodes = ["left"]\n'
ON_LINK = 'links = [{ link = "uplink" }]\n'
PAIR = '[[pair]]\nsource = "lab"\ndestination = "archive"\n'
LINKED = LINK + STANDING.format(ON_LINK)

BAD: dict[str, tuple[str, str, str]] = {
    "no TOML": ("[[class", "", "the text is not TOML"),
    "a key of thousands of parts": ("a." * 8000 + "a = 1", "", "a key in line 1 has more than 8 parts"),
    "tables in tables in tables": ("a = " + "{ a = " * 5000, "", "the text is nested too deeply"),
    "a name of a congestion control that no node takes": (
        LINKED + 'congestion_control = "sixteen_letters_"\n',
        "class `priority`: congestion_control",
        "pattern",
    ),
    "an unknown table": ('[[klass]]\nname = "x"', "`klass`", "this is unknown"),
    "an unknown key": (LINKED + 'wait = "x"', "class `priority`: wait", "Extra inputs are not permitted"),
    "a weight of zero": (STANDING.format("weight = 0\n"), "class `background`: weight", "greater than or equal to 1"),
    "a weight above the most": (
        STANDING.format("weight = 1001\n"),
        "class `background`: weight",
        "less than or equal to 1000",
    ),
    "a name with spaces": (LINKED + '[[class]]\nname = "a b"', "class `a b`: name", "pattern"),
    "a class that names no link": (
        LINK + STANDING.format(""),
        "class `bulk`: links",
        "no link; name at least one of `uplink`",
    ),
    "an unknown link": (LINKED.replace('"uplink" }', '"wan" }'), "class `bulk`: links", "there is no link `wan`"),
    "a link named twice": (
        LINKED.replace(ON_LINK, 'links = [{ link = "uplink" }, { link = "uplink" }]\n'),
        "class `bulk`: links",
        "is named 2 times",
    ),
    "guarantees above the link together": (
        LINKED.replace('"uplink" }', '"uplink", floor_bps = 30_000_000 }'),
        "link `uplink`",
        "the floors of classes are 90.0 Mb/s together, above its 80.0 Mb/s; lower `floor_bps` of a class",
    ),
    "a guarantee above the link": (
        LINKED.replace('"uplink" }', '"uplink", floor_bps = 90_000_000 }'),
        "class `bulk`: link `uplink`",
        "its floor is above the link's",
    ),
    "a ceiling below the floor": (
        LINKED.replace('"uplink" }', '"uplink", floor_bps = 2_000, ceiling_bps = 1_000 }'),
        "class `bulk`: link `uplink`",
        "its ceiling is below its floor",
    ),
    "a class that every site has left out": (
        LINKED.replace('name = "bulk"', 'name = "other"'),
        "class `bulk`",
        "every site has this class",
    ),
    "classes in another order": (
        LINKED.replace("background", "x").replace("bulk", "background").replace('"x"', '"bulk"'),
        "classes",
        "stand in this order",
    ),
    "a class twice": (LINKED + '[[class]]\nname = "bulk"\n' + ON_LINK, "class `bulk`", "there are 2 of this name"),
    "an unknown node": (LINKED.replace('"left"', '"lost"'), "link `uplink`: nodes", "there is no node `lost`"),
    "a link without nodes": (LINKED.replace('"left"', ""), "link `uplink`: nodes", "no node is behind it"),
    "a node on both sides": (LINKED.replace('["left"]', '["left"]\npeers = ["left"]'), "link `uplink`: nodes", "both"),
    "streams beyond a node's": (LINKED + "[tuning]\nstreams = 65\n", "tuning: streams", "less than or equal to 64"),
    "a unit that is no power of two": (
        LINKED + "[tuning]\nunit_bytes = 3_000_000\n",
        "tuning: unit_bytes",
        "3000000 is not a power of two; give one from 262144",
    ),
    "a pair that sets nothing": (LINKED + PAIR, "pair `lab to archive`", "it sets nothing; give `streams`"),
    "a pair twice": (LINKED + f"{PAIR}streams = 2\n" * 2, "pair `lab to archive`", "there are 2 of it"),
    "a pair of an unknown endpoint": (
        LINKED + PAIR.replace("lab", "lap") + "streams = 2\n",
        "pair `lap to archive`",
        "there is no endpoint `lap`",
    ),
    "an unknown setting of a pair": (
        LINKED + PAIR + "window = 2\n",
        "pair `lab to archive`: window",
        "Extra inputs are not permitted",
    ),
    "a calendar without hours": (
        LINKED + '[[calendar]]\nname = "nights"\n',
        "calendar `nights`: hours",
        "it has no hours, so it would never be open",
    ),
    "hours without length": (
        LINKED + '[[calendar]]\nname = "n"\n[[calendar.hours]]\ndays = ["mon"]\nopens = "08:00"\ncloses = "08:00"\n',
        "calendar `n`: hours",
        "have no length",
    ),
    "an unknown zone": (
        LINKED + '[[calendar]]\nname = "n"\nzone = "Mars/Base"\n[[calendar.hours]]\ndays = ["mon"]\n',
        "calendar `n`: zone",
        "is not an IANA time zone",
    ),
    "too many links of a node": (
        LINKED + "".join(LINK.replace("uplink", f"more-{number}") for number in range(8)),
        "node `left`",
        "it stands behind 9 links",
    ),
    "an unknown calendar": (LINKED + 'calendar = "n"\n', "class `priority`: calendar", "there is no calendar `n`"),
}
"""What is wrong: the text, where it is, and what is said of it."""
