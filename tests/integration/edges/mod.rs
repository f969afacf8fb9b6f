//! The edge cases a client must survive (Qoder page, section 14), one number after the other: each drives bytes through
//! the stream, the record, the fold and the reducer, and looks at what a window shows in the end.

pub(crate) mod stage;
pub(crate) mod wire;

mod content;
mod lists;
mod previews;
mod requests;
mod sending;
mod streams;
mod turns;
