//! Names of other objects: complexes, host groups, calendars, environments, lists, queues.

use oxherd_model::host_group::HostId;
use oxherd_model::subordinate::SubordinateList;

use super::{Lint, part};
use crate::attribute::closest_of;
use crate::complex::{self, Complex};
use crate::diagnostic::Severity;
use crate::value::{Value, words};

pub(super) fn check(lint: &mut Lint<'_>) {
    complexes(lint);
    groups(lint);
    subordinates(lint);
    let context = lint.context;
    for (attribute, what, known) in [
        ("pe_list", "parallel environment", context.parallel_environments),
        ("ckpt_list", "checkpoint environment", context.checkpoint_environments),
        ("user_lists", "access list", context.access_lists),
        ("xuser_lists", "access list", context.access_lists),
        ("projects", "project", context.projects),
        ("xprojects", "project", context.projects),
        ("calendar", "calendar", context.calendars),
    ] {
        if let Some(known) = known {
            names(lint, attribute, what, known);
        }
    }
}

fn names(lint: &mut Lint<'_>, attribute: &str, what: &str, known: &[String]) {
    for written in lint.values(attribute) {
        let is_none = written.text.eq_ignore_ascii_case("none");
        for (at, word) in words(&written.text).filter(|_| !is_none) {
            if known.iter().any(|name| name == word) {
                continue;
            }
            let meant = closest_of(word, known.iter().map(String::as_str));
            let message = format!("`{attribute}`: there is no {what} `{word}`");
            let diagnostic =
                lint.report(Severity::Error, "queue-unknown-reference", part(written, &at), message);
            diagnostic.help = meant.map(|meant| format!("did you mean `{meant}`?"));
        }
    }
}

/// A threshold on a complex that nobody defined stops the queue for good (observed on 8.1.9); as a capacity it is refused.
fn complexes(lint: &mut Lint<'_>) {
    let builtin;
    let (known, severity): (&[Complex], Severity) = match lint.context.complexes {
        Some(known) => (known, Severity::Error),
        None => {
            builtin = complex::builtin();
            (&builtin, Severity::Warning)
        }
    };
    for attribute in ["load_thresholds", "suspend_thresholds", "complex_values"] {
        for written in lint.values(attribute) {
            let is_none = written.text.eq_ignore_ascii_case("none");
            for (at, word) in words(&written.text).filter(|_| !is_none) {
                let Some((name, value)) = word.split_once('=') else { continue };
                let complex = known.iter().find(|c| c.name == name || c.shortcut == name);
                let Some(complex) = complex else {
                    let (code, message) = if attribute == "complex_values" {
                        ("queue-complex-unknown", format!("there is no complex `{name}`"))
                    } else {
                        let effect = "the queue stays in alarm and takes no jobs";
                        ("queue-threshold-unknown", format!("there is no complex `{name}`; {effect}"))
                    };
                    let place = part(written, &(at.start..at.start + name.len()));
                    let meant = closest_of(name, known.iter().map(|c| c.name.as_str()));
                    let diagnostic = lint.report(severity, code, place, format!("`{attribute}`: {message}"));
                    diagnostic.help = meant.map(|meant| format!("did you mean `{meant}`?"));
                    continue;
                };
                if let Some(complaint) = complex.kind.complaint(value) {
                    let place = part(written, &(at.start + name.len() + 1..at.end));
                    lint.report(
                        Severity::Error,
                        "queue-complex-value",
                        place,
                        format!("`{attribute}`: {name}: {complaint}"),
                    );
                }
            }
        }
    }
}

/// Unknown host groups (refused by stock), and overrides for hosts where the queue has no instance.
fn groups(lint: &mut Lint<'_>) {
    let Some(groups) = lint.context.groups else { return };
    let queue = lint.queue;
    let hosts: &[HostId] = match queue.get("hostlist").map(|setting| &setting.value.default.value) {
        Some(Value::Hosts(hosts)) => hosts,
        _ => &[],
    };
    let ids = hosts
        .iter()
        .filter_map(|id| queue.get("hostlist").map(|s| (s.attribute.name, id, s.value.default.span)));
    let overrides = queue.settings().iter().flat_map(|setting| {
        setting.value.overrides.iter().map(|(id, written)| (setting.attribute.name, id, written.span))
    });
    for (attribute, id, span) in ids.chain(overrides) {
        match id {
            HostId::Group(name) if !groups.is_known(name) => {
                let meant = closest_of(name, groups.names());
                let message = format!("`{attribute}`: there is no host group `{name}`");
                let diagnostic = lint.report(Severity::Error, "queue-unknown-group", span, message);
                diagnostic.help = meant.map(|meant| format!("did you mean `{meant}`?"));
            }
            HostId::Host(name) if attribute != "hostlist" && !queue.has_instance_on(name, groups) => {
                let message = format!("`{attribute}`: the queue has no instance on `{name}`");
                lint.warn("queue-override-unused", span, message).help =
                    Some("the value is kept, and used once `hostlist` names the host".to_owned());
            }
            _ => {}
        }
    }
}

fn subordinates(lint: &mut Lint<'_>) {
    let own = lint.queue.qname().to_owned();
    for written in lint.values("subordinate_list") {
        let Value::Subordinates(list) = &written.value else { continue };
        for name in list.queues() {
            if name == own {
                let message = format!("`subordinate_list`: `{name}` cannot be subordinated to itself");
                lint.report(Severity::Error, "queue-subordinate-self", written.span, message);
            } else if lint.context.queues.is_some_and(|queues| queues.iter().all(|queue| queue != name)) {
                let message = format!("`subordinate_list`: there is no queue `{name}`");
                lint.report(Severity::Error, "queue-unknown-reference", written.span, message);
            }
        }
        if let SubordinateList::QueueWise(list) = list {
            let values = lint.values("slots");
            let slots = values.iter().filter_map(|written| match written.value {
                Value::Slots(slots) => Some(slots.0),
                _ => None,
            });
            let most = slots.max().unwrap_or(u32::MAX);
            for entry in list.iter().filter(|entry| entry.slots.is_some_and(|count| count > most)) {
                let message =
                    format!("`{}` is never suspended: this queue has {most} slots at most", entry.queue);
                lint.warn("queue-subordinate-never", written.span, message);
            }
        }
    }
}
