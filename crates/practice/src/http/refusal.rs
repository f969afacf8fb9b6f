//! A refused request: the status and the error envelope of the wire page (§2). The gate puts the request id in.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde_json::{Value, json};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), param: None }
    }

    pub(crate) fn invalid(message: impl Into<String>, param: &str) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(400, "invalid_request_error", message) }
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "conflict_error", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found_error", message)
    }

    /// The envelope's word for a status.
    pub(crate) fn kind_of(status: u16) -> &'static str {
        match status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            409 => "conflict_error",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// The envelope.
    pub(crate) fn body(&self, request_id: &str) -> Value {
        let mut error = json!({"type": self.kind, "message": self.message});
        if let (Some(fields), Some(param)) = (error.as_object_mut(), &self.param) {
            fields.insert("param".into(), param.clone().into());
        }
        json!({"type": "error", "request_id": request_id, "error": error})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self);
        response
    }
}
