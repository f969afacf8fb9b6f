//! Tests of the protocol through its traits: what is sent, and what frames become.
