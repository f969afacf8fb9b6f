//! What benches print: one JSON object per line.

use std::io::Write as _;

use anyhow::Result;
use serde::Serialize;

/// One line.
#[derive(Debug, Clone, Serialize)]
pub struct Line<'a> {
    /// The bench.
    pub bench: &'a str,
    /// The case.
    pub case: &'a str,
    /// What was measured.
    pub metric: &'a str,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'a str,
    /// What it should be; `None` for comparisons.
    pub target: Option<f64>,
}

/// Prints a line.
///
/// # Errors
/// When standard output is closed.
pub fn print(line: &Line<'_>) -> Result<()> {
    let rounded = Line { value: (line.value * 1000.0).round() / 1000.0, ..line.clone() };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&rounded)?)?;
    Ok(())
}

/// The middle of several measurements.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
