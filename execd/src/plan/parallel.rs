//! `-pe`: slots of a parallel environment, all of them on this host.

use oxherd_model::queue_instance::QueueInstance;

use super::{Decided, HostFacts, PlanError, Source, procedure};
use crate::options::Options;

/// A parallel environment that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPe {
    pub name: Decided<String>,
    /// `start_proc_args` and `stop_proc_args`, `none` where there is none.
    pub start: String,
    pub stop: String,
}

/// What the queue and the environment allow, or the sentence that says why not.
pub(super) fn grant(
    options: &Options,
    queue: &QueueInstance,
    host: &HostFacts,
    notes: &mut Vec<String>,
) -> Result<(Option<PlannedPe>, Decided<u32>), PlanError> {
    let Some(set) = options.parallel.clone() else { return Ok((None, Decided::built_in(1))) };
    let (given, name, requested) = (set.given, set.value.name, set.value.slots);
    if !queue.pe_list.value.contains(&name) {
        let (queue, pe_list) = (queue.qname.value.clone(), queue.pe_list.text.clone());
        return Err(PlanError::NoSuchPe { given, pe: name, queue, pe_list });
    }
    let slots = queue.slots.value.0;
    if requested > slots {
        let (queue, origin) = (queue.qname.value.clone(), queue.slots.origin.clone());
        return Err(PlanError::Slots { given, requested, slots, queue, origin });
    }
    let known = host.parallel_environments.iter().find(|known| known.name == name);
    match known {
        Some(known) if requested > known.slots.0 => {
            return Err(PlanError::PeSlots { given, requested, slots: known.slots.0, pe: name });
        }
        Some(_) => {}
        None => notes.push(format!(
            "parallel environment `{name}` is not known here: its start and stop procedures do not run"
        )),
    }
    let text = |attribute| {
        let text = known.and_then(|known| known.document.get(attribute)).unwrap_or("none").to_owned();
        procedure(Decided::built_in(text)).value
    };
    let source = Source::Option("-pe", given);
    let pe = PlannedPe {
        name: Decided::new(name, source.clone()),
        start: text("start_proc_args"),
        stop: text("stop_proc_args"),
    };
    Ok((Some(pe), Decided::new(requested, source)))
}
