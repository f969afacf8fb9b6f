//! The engine against the practice server: bytes, log, reducer, decisions, all joined.

mod edges;
mod hostile;
mod properties;
mod rows;
mod runs;
mod runs_edges;
mod spine;
mod toy;
mod turns;
mod turns_edges;
