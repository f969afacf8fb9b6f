//! What several journeys have in common.

pub use tests::window::steps::{connect, enter, open_session, times};
