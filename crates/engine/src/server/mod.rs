//! One server: the way to it, and the task that polls its list.

pub mod link;
