//! Queues that no job can reach.

use oxherd_model::limit::SlotCount;
use oxherd_model::queue_instance::QueueType;

use super::{Lint, part};
use crate::value::{Value, words};

pub(super) fn check(lint: &mut Lint<'_>) {
    slots(lint);
    hosts(lint);
    queue_type(lint);
    for (admitted, denied) in [("user_lists", "xuser_lists"), ("projects", "xprojects")] {
        both(lint, admitted, denied);
    }
}

fn slots(lint: &mut Lint<'_>) {
    let values = lint.values("slots");
    if !values.is_empty() && values.iter().all(|written| written.value == Value::Slots(SlotCount(0))) {
        let span = values.first().map_or_else(Default::default, |written| written.span);
        lint.warn("queue-no-slots", span, "`slots` 0: no job ever runs here".to_owned());
    }
}

fn hosts(lint: &mut Lint<'_>) {
    for written in lint.values("hostlist") {
        if matches!(&written.value, Value::Hosts(hosts) if hosts.is_empty()) {
            let message = "`hostlist` NONE: the queue has no instance anywhere".to_owned();
            lint.warn("queue-no-hosts", written.span, message);
        }
    }
}

/// A queue for neither kind of job needs an environment to be reached through.
fn queue_type(lint: &mut Lint<'_>) {
    let has_environment = ["pe_list", "ckpt_list"].iter().any(|name| {
        lint.values(name)
            .iter()
            .any(|written| matches!(&written.value, Value::Names(list) if !list.is_empty()))
    });
    if has_environment {
        return;
    }
    for written in lint.values("qtype") {
        if written.value == Value::QueueType(QueueType::default()) {
            let message = "`qtype` NONE without `pe_list` and `ckpt_list`: no job can come".to_owned();
            lint.warn("queue-no-type", written.span, message);
        }
    }
}

fn both(lint: &mut Lint<'_>, admitted: &str, denied: &str) {
    let (Some(admit), Some(deny)) = (lint.queue.get(admitted), lint.queue.get(denied)) else { return };
    let Value::Names(allowed) = &admit.value.default.value else { return };
    let written = &deny.value.default;
    let Value::Names(forbidden) = &written.value else { return };
    for (at, name) in words(&written.text).filter(|(_, word)| forbidden.iter().any(|name| name == word)) {
        if allowed.iter().any(|other| other == name) {
            let message = format!("`{name}` is in `{admitted}` and in `{denied}`, which is stronger");
            lint.warn("queue-access-both", part(written, &at), message);
        }
    }
}
