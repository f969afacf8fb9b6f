//! Between Rust values and columns.

use rusqlite::{Row, types::ValueRef};
use serde::{Serialize, de::DeserializeOwned};

use crate::StoreError;

/// A value as JSON text.
pub(crate) fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Encoding { what, source: source.into() })
}

/// A value from JSON text.
pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Encoding { what, source: source.into() })
}

/// A plain enum as its word, the one the contract gives it.
pub(crate) fn word<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    let quoted = json(what, value)?;
    Ok(quoted.trim_matches('"').to_owned())
}

/// A plain enum from its word.
pub(crate) fn from_word<T: DeserializeOwned>(what: &'static str, word: &str) -> Result<T, StoreError> {
    let value = serde_json::Value::String(word.to_owned());
    serde_json::from_value(value).map_err(|source| StoreError::Encoding { what, source: source.into() })
}

/// A text column without a copy more than needed. Text damaged on disk is shown with U+FFFD, never refused.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<String, StoreError> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

/// The same for a column that may be NULL.
pub(crate) fn optional_text(row: &Row<'_>, column: usize) -> Result<Option<String>, StoreError> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}
