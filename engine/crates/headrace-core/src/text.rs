//! What people see and type: text from outside made fit to be shown, and figures with their units.
//!
//! The rule is the same in every language of the project: `conformance/text/` at the repository's root holds the table of characters and
//! the cases that each implementation must answer.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::Deserialize;

const BYTE_UNITS: &[&str] = &["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const RATE_UNITS: &[&str] = &["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"];

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("../../../../conformance/text/characters.json");
    // It is part of this program, and the tests below read all of it.
    serde_json::from_str(text).expect("the table of characters")
});

#[derive(Deserialize)]
struct Table {
    unseen: Ranges,
    marks: Ranges,
    max_marks: usize,
}

/// Ranges of code points in ascending order.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Ranges(Vec<RangeInclusive<u32>>);

impl TryFrom<String> for Ranges {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let ranges = text.split_whitespace().map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Ok(u32::from_str_radix(first, 16)?..=u32::from_str_radix(last, 16)?)
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

impl Ranges {
    fn hold(&self, character: char) -> bool {
        let point = u32::from(character);
        let after = self.0.partition_point(|range| *range.end() < point);
        self.0
            .get(after)
            .is_some_and(|range| range.contains(&point))
    }
}

/// Whether a character is never shown as it is.
pub(crate) fn is_unseen(character: char) -> bool {
    TABLE.unseen.hold(character)
}

/// Writes every character that hides, steers or turns text around as `\u{202E}`, and combining marks beyond the third in a row.
///
/// A plain space stays. Showing twice changes nothing.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let table = &*TABLE;
    let mut shown = String::with_capacity(text.len());
    let mut marks = 0;
    for character in text.chars() {
        marks = if table.marks.hold(character) {
            marks + 1
        } else {
            0
        };
        if marks > table.max_marks || table.unseen.hold(character) {
            // Writing to a string can't fail.
            let _ = write!(shown, "\\u{{{:04X}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// A number of bytes, in decimal units with three digits, rounded down: `1.71 GB`.
#[must_use]
pub fn byte_size(count: u64) -> String {
    scaled(count, BYTE_UNITS)
}

/// A rate, in decimal units with three digits, rounded down: `9.41 Gb/s`.
#[must_use]
pub fn bit_rate(bits_per_s: u64) -> String {
    scaled(bits_per_s, RATE_UNITS)
}

/// A length of time in its two largest units, rounded down: `1 h 5 min`, `250 ms`.
#[must_use]
pub fn duration(length: std::time::Duration) -> String {
    let seconds = length.as_secs();
    if seconds == 0 {
        return match length.subsec_millis() {
            0 => "0 s".to_owned(),
            millis => format!("{millis} ms"),
        };
    }
    let amounts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let largest = amounts
        .iter()
        .skip_while(|(amount, _)| *amount == 0)
        .take(2);
    let said: Vec<String> = largest
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount} {unit}"))
        .collect();
    said.join(" ")
}

/// Reads `500Mb/s`, `20 MB/s`, `1.5 Gbit/s` as whole bits per second: `b` is a bit and `B` a byte. `None` for anything else, and for nothing.
#[must_use]
pub fn read_rate(text: &str) -> Option<u64> {
    let text = text.trim();
    let rest = text
        .strip_suffix("/s")
        .or_else(|| text.strip_suffix("ps"))?;
    let (rest, bits) = match (
        rest.strip_suffix("bit").or_else(|| rest.strip_suffix('b')),
        rest.strip_suffix('B'),
    ) {
        (Some(rest), _) => (rest, 1),
        (None, Some(rest)) => (rest, 8),
        (None, None) => return None,
    };
    let digits = rest
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(rest.len());
    let (number, prefix) = rest.split_at(digits);
    let factor = factor(prefix.strip_prefix(' ').unwrap_or(prefix))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = number.checked_mul(factor)?.checked_mul(bits)?;
    let rate = u64::try_from(scaled / divisor).ok()?;
    (scaled % divisor == 0 && rate > 0).then_some(rate)
}

fn factor(prefix: &str) -> Option<u128> {
    if prefix.is_empty() {
        return Some(1);
    }
    let (letter, step): (&str, u128) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1024),
        None => (prefix, 1000),
    };
    let power = match letter {
        "k" if step == 1000 => 1,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return None,
    };
    Some(step.pow(power))
}

fn scaled(value: u64, units: &[&str]) -> String {
    let (mut index, mut step) = (0, 1_u64);
    while value / step >= 1000 && index + 1 < units.len() {
        index += 1;
        step *= 1000;
    }
    let (whole, unit) = (value / step, units[index]);
    let decimals = match whole {
        _ if index == 0 => 0,
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    if decimals == 0 {
        return format!("{whole} {unit}");
    }
    let fraction = value % step / (step / 10_u64.pow(decimals));
    format!(
        "{whole}.{fraction:0width$} {unit}",
        width = decimals as usize
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn cases(name: &str) -> Vec<(Value, Value)> {
        let text = include_str!("../../../../conformance/text/cases.json");
        let mut all: Value = serde_json::from_str(text).expect("the cases");
        serde_json::from_value(all[name].take())
            .expect("pairs of what is given and what is answered")
    }

    #[test]
    fn invariant_4_text_from_outside_is_shown_as_everywhere() {
        for (given, shown) in cases("visible") {
            let given = given.as_str().expect("a text");
            assert_eq!(visible(given), shown.as_str().expect("a text"));
            assert_eq!(visible(&visible(given)), visible(given));
        }
    }

    #[test]
    fn figures_are_written_as_everywhere() {
        for (given, shown) in cases("sizes") {
            assert_eq!(byte_size(given.as_u64().expect("bytes")), shown);
        }
        for (given, shown) in cases("rates") {
            assert_eq!(bit_rate(given.as_u64().expect("bits")), shown);
        }
        for (given, shown) in cases("durations") {
            let seconds = given.as_f64().expect("seconds").max(0.0);
            assert_eq!(duration(Duration::from_secs_f64(seconds)), shown);
        }
        assert_eq!(byte_size(u64::MAX), "18.4 EB");
    }

    #[test]
    fn rates_are_read_as_everywhere() {
        for (given, rate) in cases("read_rates") {
            let given = given.as_str().expect("a text");
            assert_eq!(read_rate(given), rate.as_u64(), "{given}");
        }
        assert_eq!(
            read_rate("99999999999999999999999999999999999999999Gb/s"),
            None
        );
    }

    proptest! {
        #[test]
        fn showing_twice_changes_nothing(text in any::<String>()) {
            let shown = visible(&text).into_owned();
            prop_assert!(!shown.chars().any(|character| TABLE.unseen.hold(character)));
            prop_assert_eq!(visible(&shown), shown.as_str());
        }

        #[test]
        fn any_text_is_a_rate_or_is_refused(text in "[0-9.]{0,25} ?[kKMGTPEi]{0,2}(b|bit|B)?(/s|ps)?") {
            prop_assert!(read_rate(&text) != Some(0));
        }
    }
}
