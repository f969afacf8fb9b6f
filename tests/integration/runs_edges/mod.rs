//! The edge cases a client of the `runs` protocol must survive (runs-server page, section 10), one number after the
//! other: each drives bytes over a real connection through the stream, the record, the fold and the reducer, and looks
//! at what a window shows in the end.

mod hand;

mod asked;
mod calls;
mod content;
mod cuts;
mod ends;
mod history;
mod servers;
mod stops;
