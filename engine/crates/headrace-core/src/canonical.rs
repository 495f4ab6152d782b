//! Canonical JSON (RFC 8785): members sorted by UTF-16, shortest escapes, numbers as ECMAScript writes them.

use std::fmt::Write as _;

use serde_json::Value;

/// The one canonical text of a value.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            text.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(text, name);
                text.push(':');
                write(text, field);
            }
            text.push('}');
        }
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => {
                // Writing to a string can't fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}

/// Numbers are IEEE doubles; larger integers stand in documents as strings, so rounding them here only makes a body
/// that holds one not canonical.
fn write_number(text: &mut String, number: &serde_json::Number) {
    let double = number.as_f64().unwrap_or(0.0);
    if double == 0.0 {
        text.push('0');
        return;
    }
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The value is 0.digits * 10^point, as in Number::toString of ECMAScript.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    if double < 0.0 {
        text.push('-');
    }
    let zeros = |many: i32| "0".repeat(usize::try_from(many).unwrap_or(0));
    if (count..=21).contains(&point) {
        text.push_str(&digits);
        text.push_str(&zeros(point - count));
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        text.push_str(whole);
        text.push('.');
        text.push_str(fraction);
    } else if (-5..=0).contains(&point) {
        text.push_str("0.");
        text.push_str(&zeros(-point));
        text.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        text.push_str(first);
        if !rest.is_empty() {
            text.push('.');
            text.push_str(rest);
        }
        let sign = if point > 0 { '+' } else { '-' };
        let _ = write!(text, "e{sign}{}", (point - 1).abs());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_rfc_8785_hold() {
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let value: Value = serde_json::from_str(input).expect("the example");
        let canonical = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(to_string(&value), canonical);

        let sorted = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "ö": 7});
        let names = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(to_string(&sorted), names);
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (number, text) in [
            (json!(-0.0), "0"),
            (json!(1), "1"),
            (json!(-120), "-120"),
            (json!(9_007_199_254_740_992_u64), "9007199254740992"),
            (json!(1e21), "1e+21"),
            (
                json!(123_456_789_012_345_680_000_f64),
                "123456789012345680000",
            ),
            (json!(0.000_001), "0.000001"),
            (json!(1e-7), "1e-7"),
            (json!(5e-324), "5e-324"),
            (json!(12.5), "12.5"),
        ] {
            assert_eq!(to_string(&number), text);
        }
    }

    proptest! {
        #[test]
        fn reading_back_gives_the_same_value(text in ".{0,30}", number in any::<f64>()) {
            let value = json!({"text": text, "number": number});
            let canonical = to_string(&value);
            let read: Value = serde_json::from_str(&canonical).expect("canonical JSON is JSON");
            prop_assert_eq!(to_string(&read), canonical);
            if number.is_finite() {
                prop_assert_eq!(read["number"].as_f64(), Some(number));
            }
        }
    }
}
