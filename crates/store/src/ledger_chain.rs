//! The ledger's chain: what a row's hash covers.
//!
//! SHA-256 over the hash of the row before, then every field in the columns' order, each with a tag for its type and
//! its length, so that no two different rows hash the same bytes.

use rusqlite::types::Value;
use sha2::{Digest, Sha256};

/// The hash before the first row.
pub(crate) const GENESIS: [u8; 32] = [0; 32];

/// The covered columns, in the hash's order. A new column needs a new version word below.
pub(crate) const COVERED: &str = "number, settles, session, request, at, decided_by, choice, tool, subject, reason, \
     digest, waited_ms, outgoing, key, fate, fate_message";

/// How many those are.
pub(crate) const COVERED_COUNT: usize = 16;

/// The hash of a row with these values of [`COVERED`].
pub(crate) fn row_hash(prev: &[u8], values: &[Value; COVERED_COUNT]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut field = |tag: u8, bytes: &[u8]| {
        hash.update([tag]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    field(b'v', b"countersign ledger 1");
    field(b'p', prev);
    for value in values {
        match value {
            Value::Null => field(b'n', &[]),
            Value::Integer(number) => field(b'i', &number.to_be_bytes()),
            Value::Real(number) => field(b'r', &number.to_be_bytes()),
            Value::Text(text) => field(b't', text.as_bytes()),
            Value::Blob(bytes) => field(b'b', bytes),
        }
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(request: &str, choice: &str) -> [Value; COVERED_COUNT] {
        let mut values: [Value; COVERED_COUNT] = std::array::from_fn(|_| Value::Null);
        values[3] = Value::Text(request.into());
        values[6] = Value::Text(choice.into());
        values
    }

    #[test]
    fn moving_a_character_to_the_next_field_changes_the_hash() {
        let mut shifted = row("a", "");
        shifted[4] = Value::Text("b".into());
        let mut joined = row("ab", "");
        joined[4] = Value::Text(String::new());
        assert_ne!(row_hash(&GENESIS, &shifted), row_hash(&GENESIS, &joined));
    }

    #[test]
    fn missing_and_empty_differ_and_so_does_another_predecessor() {
        let mut empty = row("r", "deny");
        empty[7] = Value::Text(String::new());
        assert_ne!(row_hash(&GENESIS, &row("r", "deny")), row_hash(&GENESIS, &empty));
        assert_ne!(row_hash(&GENESIS, &empty), row_hash(&[1; 32], &empty));
    }
}
