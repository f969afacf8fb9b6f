//! The fold of v4.
