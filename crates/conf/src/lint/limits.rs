//! Limits: pairs in the wrong order, values below what can be set, suffixes that are no minutes.

use core::fmt::Display;

use oxherd_model::limit::{Bytes, Limit, Seconds};

use super::{Lint, part};
use crate::attribute::{ATTRIBUTES, Kind};
use crate::host_value::{HostValue, Written};
use crate::queue::ClusterQueue;
use crate::value::{FromValue, Value};

/// Soft and hard names with the smallest value the shepherd sets (shepherd.md §10): seconds or bytes, 0 for none.
const PAIRS: [(&str, &str, u64); 9] = [
    ("s_rt", "h_rt", 0),
    ("s_cpu", "h_cpu", 2),
    ("s_fsize", "h_fsize", 15 << 10),
    ("s_data", "h_data", 10 << 20),
    ("s_stack", "h_stack", 1 << 20),
    ("s_core", "h_core", 0),
    ("s_rss", "h_rss", 10 << 20),
    ("s_vmem", "h_vmem", 10 << 20),
    ("notify", "h_rt", 0),
];

pub(super) fn check(lint: &mut Lint<'_>) {
    for (soft, hard, floor) in PAIRS {
        if soft == "notify" {
            compare::<Seconds>(lint, soft, hard, "queue-h-rt-below-notify");
        } else if soft.ends_with("_rt") || soft.ends_with("_cpu") {
            compare::<Seconds>(lint, soft, hard, "queue-soft-above-hard");
        } else {
            compare::<Bytes>(lint, soft, hard, "queue-soft-above-hard");
        }
        if floor > 0 {
            below_floor(lint, soft, floor);
            below_floor(lint, hard, floor);
        }
    }
    suffixes(lint);
    no_effect(lint);
    suspension(lint);
}

/// Reports finite values of `low` above those of `high`, for all hosts and for each host with an override.
fn compare<T>(lint: &mut Lint<'_>, low: &str, high: &str, code: &'static str)
where
    T: Ord + Copy + Display,
    Limit<T>: FromValue,
{
    let queue: &ClusterQueue = lint.queue;
    let (Some(low_setting), Some(high_setting)) = (queue.get(low), queue.get(high)) else { return };
    let mut seen = Vec::new();
    for (low_value, high_value) in pairs(&low_setting.value, &high_setting.value) {
        let typed = |written: &Written<Value>| Limit::<T>::from_value(&written.value);
        let (Some(l), Some(h)) = (typed(low_value), typed(high_value)) else { continue };
        // A missing soft limit is the normal case, not one above the hard limit.
        if l.is_infinite() || l <= h {
            continue;
        }
        let at = if low == "notify" { high_value.span } else { low_value.span };
        if seen.contains(&at) {
            continue;
        }
        seen.push(at);
        let message = if low == "notify" {
            format!("`{high}` {} is shorter than `notify` {}", high_value.text, low_value.text)
        } else {
            format!("`{low}` {} is above `{high}` {}", low_value.text, high_value.text)
        };
        let help = match (low, high) {
            ("notify", _) => "jobs with -notify outlive the limit by the notify time",
            (_, "h_rt") => "the job is killed before it is warned",
            _ => "the soft limit is lowered to the hard one",
        };
        lint.warn(code, at, message).help = Some(help.to_owned());
    }
}

/// The values of both that meet on one host or in one group.
fn pairs<'a, T: PartialEq>(
    low: &'a HostValue<T>,
    high: &'a HostValue<T>,
) -> Vec<(&'a Written<T>, &'a Written<T>)> {
    let of = |values: &'a HostValue<T>, id| {
        values.overrides.iter().find(|(host, _)| host.same(id)).map_or(&values.default, |(_, value)| value)
    };
    let mut all = vec![(&low.default, &high.default)];
    for (id, _) in low.overrides.iter().chain(&high.overrides) {
        all.push((of(low, id), of(high, id)));
    }
    all
}

fn below_floor(lint: &mut Lint<'_>, name: &str, floor: u64) {
    for written in lint.values(name) {
        let (value, unit) = match written.value {
            Value::Time(Limit::Value(Seconds(value))) => (value, "s"),
            Value::Memory(Limit::Value(Bytes(value))) => (value, "bytes"),
            _ => continue,
        };
        if value < floor {
            let message =
                format!("`{name}` {} is below the smallest limit set, {floor} {unit}", written.text);
            lint.warn("queue-limit-below-floor", written.span, message).help =
                Some(format!("jobs get {floor} {unit}, as with 8.1.9"));
        }
    }
}

/// `h_rt 30m` is thirty million seconds, nearly a year.
fn suffixes(lint: &mut Lint<'_>) {
    for attribute in ATTRIBUTES.iter().filter(|attribute| attribute.kind == Kind::Time) {
        for written in lint.values(attribute.name) {
            let Some(suffix) = written.text.trim_end().chars().last().filter(|c| "kKmMgGtT".contains(*c))
            else {
                continue;
            };
            let Value::Time(Limit::Value(seconds)) = written.value else { continue };
            let message =
                format!("`{}` {} is {} seconds, {seconds}", attribute.name, written.text, seconds.0);
            lint.warn("queue-time-suffix", written.span, message).help =
                Some(format!("`{suffix}` multiplies as in sizes; write `hh:mm:ss` for hours and minutes"));
        }
    }
}

/// Values that Linux does nothing with.
fn no_effect(lint: &mut Lint<'_>) {
    for name in ["s_rss", "h_rss"] {
        for written in lint.values(name) {
            if matches!(written.value, Value::Memory(Limit::Value(_))) {
                let message = format!("`{name}` is set for jobs, but Linux does not enforce RLIMIT_RSS");
                lint.warn("queue-no-effect", written.span, message).help =
                    Some("limit memory with `h_vmem`".to_owned());
            }
        }
    }
    for written in lint.values("processors") {
        if matches!(written.value, Value::Processors(Some(_))) {
            let message = "`processors` reaches the job's files, but binds nothing on Linux".to_owned();
            lint.warn("queue-no-effect", written.span, message);
        }
    }
}

/// Suspend thresholds that can never suspend, and intervals of nothing.
fn suspension(lint: &mut Lint<'_>) {
    let has_thresholds = lint
        .values("suspend_thresholds")
        .iter()
        .any(|written| matches!(&written.value, Value::ComplexValues(list) if !list.is_empty()));
    if !has_thresholds {
        return;
    }
    for name in ["suspend_interval", "nsuspend"] {
        for written in lint.values(name) {
            let never = match written.value {
                Value::Time(limit) => limit == Limit::Value(Seconds(0)) || limit.is_infinite(),
                Value::Number(count) => count == 0,
                _ => false,
            };
            if never {
                let message = format!("`{name}` {} switches `suspend_thresholds` off", written.text);
                lint.warn("queue-suspend-never", part(written, &(0..written.text.len())), message);
            }
        }
    }
}
