//! Addresses: path segments and query parameters below a server's base, percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// Everything but RFC 3986's unreserved characters; the brackets of array parameters become `%5B%5D`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of `segments` below `base`, with these parameters. The base's own query and fragment are dropped.
pub(crate) fn address(base: &Url, segments: &[&str], query: &[(&str, &str)]) -> String {
    let mut whole = base.clone();
    whole.set_query(None);
    whole.set_fragment(None);
    let mut address = whole.as_str().trim_end_matches('/').to_owned();
    for segment in segments {
        address.push('/');
        // A server's id could be `..`: as plain text it would climb out of the base.
        if matches!(*segment, "." | "..") {
            address.push_str(&segment.replace('.', "%2E"));
        } else {
            address.extend(utf8_percent_encode(segment, RESERVED));
        }
    }
    for (number, (name, value)) in query.iter().enumerate() {
        address.push(if number == 0 { '?' } else { '&' });
        address.extend(utf8_percent_encode(name, RESERVED));
        address.push('=');
        address.extend(utf8_percent_encode(value, RESERVED));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_parameters_are_percent_encoded_and_ids_stay_inside_their_segment() {
        let base = Url::parse("http://127.0.0.1:4000/v1/").unwrap();
        assert_eq!(
            address(&base, &["sessions", "a/b?c", "events"], &[("event_deltas[]", "agent.message"), ("limit", "1")]),
            "http://127.0.0.1:4000/v1/sessions/a%2Fb%3Fc/events?event_deltas%5B%5D=agent.message&limit=1"
        );
        assert_eq!(address(&base, &["sessions", ".."], &[]), "http://127.0.0.1:4000/v1/sessions/%2E%2E");
    }

    #[test]
    fn a_base_without_a_path_gets_one_slash() {
        let base = Url::parse("https://example.test").unwrap();
        assert_eq!(address(&base, &["agents"], &[]), "https://example.test/agents");
    }
}
