//! Timestamps: RFC 3339 with 0 to 9 fractional digits, with or without a zone (then UTC).

use contract::Millis;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// The moment in milliseconds; `None` where the text is no timestamp.
pub(crate) fn millis(text: &str) -> Option<Millis> {
    if let Some(quick) = plain_utc(text.as_bytes()) {
        return Some(quick);
    }
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    let civil: DateTime = text.parse().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// `YYYY-MM-DDTHH:MM:SS[.f]Z`, the form of nearly every event: read without the general parser, which costs as much
/// as the rest of a small event. Anything unusual is left to it.
fn plain_utc(text: &[u8]) -> Option<Millis> {
    let (head, rest) = text.split_at_checked(19)?;
    let &[y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T', h1, h2, b':', mi1, mi2, b':', s1, s2] = head else {
        return None;
    };
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(mo1, mo2)?, two(d1, d2)?);
    let (hour, minute, second) = (two(h1, h2)?, two(mi1, mi2)?, two(s1, s2)?);
    if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = match rest {
        b"Z" => 0,
        [b'.', digits @ .., b'Z'] if (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) => {
            let mut milliseconds = 0;
            for place in 0..3 {
                milliseconds = milliseconds * 10 + digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
            }
            milliseconds
        }
        _ => return None,
    };
    // Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction)
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_to_nine_fractional_digits_with_or_without_a_zone() {
        let whole = 1_788_249_601_000;
        for (text, fraction) in [
            ("2026-09-01T08:00:01Z", 0),
            ("2026-09-01T08:00:01", 0),
            ("2026-09-01 08:00:01", 0),
            ("2026-09-01T10:00:01+02:00", 0),
            ("2026-09-01T08:00:01.5Z", 500),
            ("2026-09-01T08:00:01.25", 250),
            ("2026-09-01T08:00:01.123456789Z", 123),
            ("2026-09-01T10:00:01.1239+02:00", 123),
        ] {
            assert_eq!(millis(text), Some(whole + fraction), "{text}");
        }
    }

    #[test]
    fn what_is_no_timestamp_is_none() {
        for text in [
            "",
            "soon",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-09-01T25:00:00Z",
            "2026-09-01T08:00:01.Z",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_reader_agrees_with_the_general_one(milliseconds in 0i64..253_402_300_799_999) {
            let text = Timestamp::from_millisecond(milliseconds).unwrap().to_string();
            prop_assert_eq!(millis(&text), Some(milliseconds));
        }
    }
}
