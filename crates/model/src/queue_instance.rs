//! A queue on one host: every queue_conf(5) parameter as it holds there, and where each value came from.

use core::fmt;

use crate::host_group::HostId;
use crate::limit::{Bytes, Limit, Seconds, SlotCount};
use crate::method::Method;
use crate::procedure::Procedure;
use crate::shell_start_mode::ShellStartMode;
use crate::subordinate::SubordinateList;

/// Where a value of a queue instance was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The setting without brackets.
    QueueDefault,
    /// An override for this host group (with its `@`).
    HostGroup(String),
    /// An override for this host.
    Host(String),
    /// `--set NAME=VALUE`.
    Set,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueDefault => f.write_str("queue default"),
            Self::HostGroup(name) => write!(f, "host group {name}"),
            Self::Host(name) => write!(f, "host {name}"),
            Self::Set => f.write_str("--set"),
        }
    }
}

/// A value with its text and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The typed value.
    pub value: T,
    /// The text it was read from, without brackets and host.
    pub text: String,
    /// Who set it.
    pub origin: Origin,
}

/// `complex=value` of a threshold or of `complex_values`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComplexValue {
    /// Name or shortcut of the complex.
    pub complex: String,
    /// The value's text; its type is the complex's.
    pub value: String,
}

/// `qtype`: which jobs may be dispatched without a parallel or checkpoint environment. `NONE` is neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueType {
    /// Jobs with `-now n`.
    pub batch: bool,
    /// Jobs with `-now y`.
    pub interactive: bool,
}

/// `initial_state`: what happens to state `d` when the execution daemon starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InitialState {
    /// The state it had before.
    #[default]
    Default,
    /// Enabled.
    Enabled,
    /// Disabled.
    Disabled,
}

impl InitialState {
    /// The manual's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

/// First and last processor number of a range, both included.
pub type ProcessorRange = (u32, u32);

/// `all.q@node1`: the typed configuration of a cluster queue on one host (queue_conf(5)).
///
/// Fields are named and ordered as in `qconf -sq`; `NONE` is an empty list or `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueInstance {
    /// The host, as the caller named it.
    pub host: String,
    /// The cluster queue's name.
    pub qname: Sourced<String>,
    /// Hosts and groups that have instances.
    pub hostlist: Sourced<Vec<HostId>>,
    /// Order among equal queues.
    pub seq_no: Sourced<u32>,
    /// Thresholds for state `a`.
    pub load_thresholds: Sourced<Vec<ComplexValue>>,
    /// Thresholds for state `A`.
    pub suspend_thresholds: Sourced<Vec<ComplexValue>>,
    /// Jobs suspended or resumed per interval.
    pub nsuspend: Sourced<u32>,
    /// The interval.
    pub suspend_interval: Sourced<Limit<Seconds>>,
    /// Nice value, -20 to 20.
    pub priority: Sourced<i32>,
    /// Shortest time between two checkpoints.
    pub min_cpu_interval: Sourced<Limit<Seconds>>,
    /// Processor numbers; `None` is `UNDEFINED`.
    pub processors: Sourced<Option<Vec<ProcessorRange>>>,
    /// Kinds of jobs.
    pub qtype: Sourced<QueueType>,
    /// Checkpoint environments.
    pub ckpt_list: Sourced<Vec<String>>,
    /// Parallel environments.
    pub pe_list: Sourced<Vec<String>>,
    /// Whether jobs without `-r` are rerun.
    pub rerun: Sourced<bool>,
    /// Slots, 0 to 9999999.
    pub slots: Sourced<SlotCount>,
    /// Directory below which each job gets its own.
    pub tmpdir: Sourced<String>,
    /// Command interpreter.
    pub shell: Sourced<String>,
    /// Runs before the job; `None` means the one of sge_conf(5).
    pub prolog: Sourced<Option<Procedure>>,
    /// Runs after the job; `None` means the one of sge_conf(5).
    pub epilog: Sourced<Option<Procedure>>,
    /// How scripts are started.
    pub shell_start_mode: Sourced<ShellStartMode>,
    /// Program that starts the job; the whole text is its path (observed on 8.1.9).
    pub starter_method: Sourced<Option<String>>,
    /// Replaces SIGSTOP.
    pub suspend_method: Sourced<Method>,
    /// Replaces SIGCONT.
    pub resume_method: Sourced<Method>,
    /// Replaces SIGKILL.
    pub terminate_method: Sourced<Method>,
    /// Time between the warning signal and the real one.
    pub notify: Sourced<Limit<Seconds>>,
    /// Users who may suspend and disable.
    pub owner_list: Sourced<Vec<String>>,
    /// Access lists that are admitted.
    pub user_lists: Sourced<Vec<String>>,
    /// Access lists that are denied.
    pub xuser_lists: Sourced<Vec<String>>,
    /// Queues that give way to this one.
    pub subordinate_list: Sourced<SubordinateList>,
    /// Capacities and fixed values.
    pub complex_values: Sourced<Vec<ComplexValue>>,
    /// Projects that are admitted.
    pub projects: Sourced<Vec<String>>,
    /// Projects that are denied.
    pub xprojects: Sourced<Vec<String>>,
    /// Calendar.
    pub calendar: Sourced<Option<String>>,
    /// State after a start of the daemon.
    pub initial_state: Sourced<InitialState>,
    /// Wall clock time until the warning.
    pub s_rt: Sourced<Limit<Seconds>>,
    /// Wall clock time until the kill.
    pub h_rt: Sourced<Limit<Seconds>>,
    /// CPU time until the warning, per slot.
    pub s_cpu: Sourced<Limit<Seconds>>,
    /// CPU time until the kill, per slot.
    pub h_cpu: Sourced<Limit<Seconds>>,
    /// RLIMIT_FSIZE, soft.
    pub s_fsize: Sourced<Limit<Bytes>>,
    /// RLIMIT_FSIZE, hard.
    pub h_fsize: Sourced<Limit<Bytes>>,
    /// RLIMIT_DATA, soft, per slot.
    pub s_data: Sourced<Limit<Bytes>>,
    /// RLIMIT_DATA, hard, per slot.
    pub h_data: Sourced<Limit<Bytes>>,
    /// RLIMIT_STACK, soft, per slot.
    pub s_stack: Sourced<Limit<Bytes>>,
    /// RLIMIT_STACK, hard, per slot.
    pub h_stack: Sourced<Limit<Bytes>>,
    /// RLIMIT_CORE, soft.
    pub s_core: Sourced<Limit<Bytes>>,
    /// RLIMIT_CORE, hard.
    pub h_core: Sourced<Limit<Bytes>>,
    /// RLIMIT_RSS, soft (no effect on Linux).
    pub s_rss: Sourced<Limit<Bytes>>,
    /// RLIMIT_RSS, hard (no effect on Linux).
    pub h_rss: Sourced<Limit<Bytes>>,
    /// Memory of all processes until the warning, per slot.
    pub s_vmem: Sourced<Limit<Bytes>>,
    /// Memory of all processes until the kill, per slot.
    pub h_vmem: Sourced<Limit<Bytes>>,
}

impl QueueInstance {
    /// `queue@host`, the name users see.
    pub fn name(&self) -> String {
        format!("{}@{}", self.qname.value, self.host)
    }
}

/// One side of an ambiguity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupValue {
    /// The host group with its `@`.
    pub group: String,
    /// The text it sets.
    pub text: String,
}

/// Two host groups give one host different values: the instance is in state `c` and takes no jobs (queue_conf(5)).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attribute `{attribute}` of queue instance `{queue}@{host}` is ambiguous: {}", listed(values))]
pub struct ConfigAmbiguous {
    /// The cluster queue.
    pub queue: String,
    /// The host.
    pub host: String,
    /// The first such attribute in `qconf -sq` order.
    pub attribute: &'static str,
    /// The groups that contain the host, in the order written, at least two with different values.
    pub values: Vec<GroupValue>,
}

fn listed(values: &[GroupValue]) -> String {
    let each: Vec<String> = values.iter().map(|v| format!("`{}` sets `{}`", v.group, v.text)).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguity_names_the_attribute_and_both_groups() {
        let value = |group: &str, text: &str| GroupValue { group: group.to_owned(), text: text.to_owned() };
        let error = ConfigAmbiguous {
            queue: "all.q".to_owned(),
            host: "n1".to_owned(),
            attribute: "slots",
            values: vec![value("@a", "4"), value("@b", "8")],
        };
        assert_eq!(
            error.to_string(),
            "attribute `slots` of queue instance `all.q@n1` is ambiguous: `@a` sets `4`, `@b` sets `8`"
        );
    }
}
