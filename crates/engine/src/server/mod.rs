//! One server: its address, the way to it, the probe before it is saved, the task that polls its list.

pub mod address;
pub mod facts;
pub mod floor;
pub mod link;
pub mod poll;
pub mod probe;
