//! Why there is no plan.

use oxherd_model::queue_instance::Origin;

use super::PlannedLimit;
use crate::options::Given;

/// Why a job cannot be run in a queue. Everything here is for the job's owner to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error(
        "{given}: `-l {}={requested}` is above the limit of queue `{queue}`, `{}` is `{}` ({})",
        limit.name, limit.name, limit.text, limit.source
    )]
    AboveLimit { given: Given, requested: String, queue: String, limit: Box<PlannedLimit> },
    #[error("{given}: `-l {name}`: {source}")]
    Request { given: Given, name: &'static str, source: oxherd_model::specifier::SpecifierError },
    #[error("user id {uid} of `{user}` is below min_uid {min_uid}")]
    BelowMinUid { user: String, uid: u32, min_uid: u32 },
    #[error("group id {gid} of `{user}` is below min_gid {min_gid}")]
    BelowMinGid { user: String, gid: u32, min_gid: u32 },
    #[error("{given}: parallel environment `{pe}` is not in the pe_list of queue `{queue}`: `{pe_list}`")]
    NoSuchPe { given: Given, pe: String, queue: String, pe_list: String },
    #[error("{given}: {requested} slots are more than the {slots} of queue `{queue}` ({origin})")]
    Slots { given: Given, requested: u32, slots: u32, queue: String, origin: Origin },
    #[error("{given}: {requested} slots are more than the {slots} of parallel environment `{pe}`")]
    PeSlots { given: Given, requested: u32, slots: u32, pe: String },
    #[error("{given}: standard input `{path}` is also where the output goes")]
    InputIsOutput { given: Given, path: String },
    #[error("tmpdir `{0}` of the queue is not an absolute path")]
    Tmpdir(String),
}
