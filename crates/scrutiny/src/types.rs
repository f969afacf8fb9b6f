//! The words for what was found come from the contract.

pub use contract::scrutiny::{Mark, MarkKind, Reason, Risk, RiskClass, RiskReason, Segment};

/// The risk that these reasons make: the worst decides, and stands first.
pub(crate) fn risk_of(mut reasons: Vec<Reason>, segments: Vec<Segment>) -> Risk {
    reasons.sort_by(|a, b| (b.class, a.segment, a.reason).cmp(&(a.class, b.segment, b.reason)));
    reasons.dedup();
    let class = reasons.first().map_or(RiskClass::Low, |reason| reason.class);
    Risk { class, reasons, segments }
}
