//! The history beside what was shown.
