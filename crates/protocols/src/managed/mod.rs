//! The `managed` protocol.
