//! RESOURCE LIMITS of queue_conf(5): the smaller one of the queue's value and the job's request.

use oxherd_model::limit::{Bytes, Limit, Seconds};
use oxherd_model::queue_instance::{QueueInstance, Sourced};
use oxherd_model::specifier::{self, Writer};

use super::{PlanError, Source};
use crate::options::{Options, Set};

/// The limits in the order of queue_conf(5).
pub const LIMITS: [&str; 16] = [
    "s_rt", "h_rt", "s_cpu", "h_cpu", "s_fsize", "h_fsize", "s_data", "h_data", "s_stack", "h_stack",
    "s_core", "h_core", "s_rss", "h_rss", "s_vmem", "h_vmem",
];

/// A limit as it will be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLimit {
    /// One of [`LIMITS`].
    pub name: &'static str,
    /// As written in the queue or the request: what `config` and a person get to read.
    pub text: String,
    /// Seconds or bytes, per slot where queue_conf(5) says so.
    pub value: Limit<u64>,
    pub source: Source,
}

/// Decides all limits.
pub(super) fn decide(
    options: &Options,
    queue: &QueueInstance,
    notes: &mut Vec<String>,
) -> Result<Vec<PlannedLimit>, PlanError> {
    for Set { value: (name, _), given } in &options.resources {
        if !LIMITS.contains(&name.as_str()) {
            notes.push(format!("{given}: `-l {name}` is ignored: it is no limit of a queue"));
        }
    }
    LIMITS
        .into_iter()
        .map(|name| {
            let configured = of_queue(queue, name);
            let request = options.resources.iter().rev().find(|set| set.value.0 == name);
            let Some(Set { value: (_, text), given }) = request else { return Ok(configured) };
            let given = *given;
            let requested =
                read(name, text, notes).map_err(|source| PlanError::Request { given, name, source })?;
            if requested > configured.value {
                return Err(PlanError::AboveLimit {
                    given,
                    requested: text.clone(),
                    queue: queue.qname.value.clone(),
                    limit: Box::new(configured),
                });
            }
            let source = Source::Option("-l", given);
            Ok(PlannedLimit { name, text: text.clone(), value: requested, source })
        })
        .collect()
}

fn read(
    name: &'static str,
    text: &str,
    notes: &mut Vec<String>,
) -> Result<Limit<u64>, specifier::SpecifierError> {
    let (value, found) = if is_time(name) {
        let parsed = specifier::parse_time(text, Writer::Request)?;
        (parsed.value.map(|seconds| seconds.0), parsed.notes)
    } else {
        let parsed = specifier::parse_memory(text, Writer::Request)?;
        (parsed.value.map(|bytes| bytes.0), parsed.notes)
    };
    notes.extend(found.into_iter().map(|note| format!("`-l {name}={text}`: {note}")));
    Ok(value)
}

fn is_time(name: &str) -> bool {
    name.ends_with("_rt") || name.ends_with("_cpu")
}

fn of_queue(queue: &QueueInstance, name: &'static str) -> PlannedLimit {
    let time = |limit: &Sourced<Limit<Seconds>>| PlannedLimit {
        name,
        text: limit.text.clone(),
        value: limit.value.map(|seconds| seconds.0),
        source: Source::Queue(limit.origin.clone()),
    };
    let memory = |limit: &Sourced<Limit<Bytes>>| PlannedLimit {
        name,
        text: limit.text.clone(),
        value: limit.value.map(|bytes| bytes.0),
        source: Source::Queue(limit.origin.clone()),
    };
    match name {
        "s_rt" => time(&queue.s_rt),
        "h_rt" => time(&queue.h_rt),
        "s_cpu" => time(&queue.s_cpu),
        "h_cpu" => time(&queue.h_cpu),
        "s_fsize" => memory(&queue.s_fsize),
        "h_fsize" => memory(&queue.h_fsize),
        "s_data" => memory(&queue.s_data),
        "h_data" => memory(&queue.h_data),
        "s_stack" => memory(&queue.s_stack),
        "h_stack" => memory(&queue.h_stack),
        "s_core" => memory(&queue.s_core),
        "h_core" => memory(&queue.h_core),
        "s_rss" => memory(&queue.s_rss),
        "h_rss" => memory(&queue.h_rss),
        "s_vmem" => memory(&queue.s_vmem),
        _ => memory(&queue.h_vmem),
    }
}
