//! What a request shows and what a decision binds: argument text, digest, card.

pub mod arguments;
pub mod card;
pub mod digest;
pub mod json;
mod judged;
