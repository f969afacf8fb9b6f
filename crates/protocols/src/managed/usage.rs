//! Usage: tokens, credits and money, whichever the server says (Qoder page, section 10; Claude page, section 4).
//! Numbers that are amounts stay decimal text: nothing is rounded.

use contract::session::Usage;
use serde_json::Value;

/// Reads a usage object (or an event that carries the numbers flat).
pub(super) fn from_value(usage: &Value) -> Usage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cache_creation = || {
        let parts = usage.get("cache_creation")?.as_object()?;
        let counts: Vec<u64> = parts.values().filter_map(Value::as_u64).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    };
    Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cache_read_input_tokens"),
        cache_write_tokens: count("cache_creation_input_tokens").or_else(cache_creation),
        credits: ["total_credits", "credits"].iter().find_map(|name| amount(usage.get(*name)?)),
        cost: usage.get("list_cost").and_then(cost),
        ..Usage::default()
    }
}

/// The same from JSON text. Amounts are taken from the text itself, since a number read as a float may be rounded.
pub(super) fn from_text(text: &str) -> Usage {
    let mut usage = serde_json::from_str::<Value>(text).map(|value| from_value(&value)).unwrap_or_default();
    if let Ok(fields) = super::wire::Fields::read(text)
        && let Some(exact) = ["total_credits", "credits"].iter().find_map(|name| fields.number_or_text(name))
    {
        usage.credits = Some(exact);
    }
    usage
}

fn amount(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `{"amount":"12","currency":"USD"}` where the amount is a decimal count of cents.
fn cost(cost: &Value) -> Option<String> {
    let cents = amount(cost.get("amount")?)?;
    let (sign, digits) = cents.strip_prefix('-').map_or(("", cents.as_str()), |rest| ("-", rest));
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !whole.bytes().chain(rest.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let padded = format!("{whole:0>3}");
    let (units, hundredths) = padded.split_at(padded.len() - 2);
    let currency = cost.get("currency").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{sign}{units}.{hundredths}{rest} {currency}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn tokens_credits_and_cost_are_read_without_rounding() {
        let usage = from_text(
            r#"{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":1,
                "cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3},
                "total_credits":4.63000000000000000001,"list_cost":{"amount":"1205","currency":"USD"}}"#,
        );
        assert_eq!(
            usage,
            Usage {
                input_tokens: Some(10),
                output_tokens: Some(5),
                cache_read_tokens: Some(1),
                cache_write_tokens: Some(5),
                credits: Some("4.63000000000000000001".to_owned()),
                cost: Some("12.05 USD".to_owned()),
                ..Usage::default()
            }
        );
    }

    #[test]
    fn cents_below_one_unit_and_fractions_of_cents_keep_their_digits() {
        let cost_of = |amount: &str| cost(&serde_json::json!({"amount": amount, "currency": "USD"}));
        assert_eq!(cost_of("12"), Some("0.12 USD".to_owned()));
        assert_eq!(cost_of("5"), Some("0.05 USD".to_owned()));
        assert_eq!(cost_of("-7"), Some("-0.07 USD".to_owned()));
        assert_eq!(cost_of("12.5"), Some("0.125 USD".to_owned()));
        assert_eq!(cost_of("a lot"), None);
    }

    #[test]
    fn an_empty_usage_says_nothing() {
        assert_eq!(from_text("{}"), Usage::default());
        assert_eq!(from_text("null"), Usage::default());
    }
}
