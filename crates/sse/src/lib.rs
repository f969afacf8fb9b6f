//! From bytes on the wire to frames, and back to the server: everything that knows HTTP and nothing of agents.
//!
//! * [`frame`]: [`frame::Splitter`] cuts an event stream into [`frame::Piece`]s (frames, cursors, the server's
//!   `retry`, comments), with caps and repaired UTF-8. Any chunking of the same bytes gives the same pieces.
//! * [`client`]: [`client::Client::send`] for a request with one answer, [`client::Client::open`] for a stream.
//!   Errors name the layer that failed and say whether the request may have arrived. Tokens never leave the origin
//!   and never reach an error or a log.
//! * [`reconnect`]: [`reconnect::Reconnect`], the pure machine that decides when a stream is opened again.
//! * [`connection`]: [`connection::Connection`], the task that keeps one stream open and reports
//!   [`connection::Link`] messages: states, log lines, and one batch of pieces per read. The receiver commits a
//!   batch and then sets the [`connection::CommittedCursor`], from which the next connection resumes.
//! * [`clock`]: the clocks of a connection, for tests to replace.

pub mod client;
pub mod clock;
pub mod connection;
pub mod frame;
pub mod reconnect;
