//! Parallel environments, checkpoint environments, execution hosts and host groups.

use oxherd_model::host_group::HostId;
use oxherd_model::limit::SlotCount;
use oxherd_model::procedure::Procedure;
use oxherd_model::queue_instance::ComplexValue;
use oxherd_model::signal;

use crate::attribute::Kind;
use crate::diagnostic::Diagnostic;
use crate::document::{Document, Schema, Unknown};

/// How slots are spread over hosts (sge_pe(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationRule {
    /// This many on each host, at least 1.
    Fixed(u32),
    /// `$pe_slots`: all on one host.
    PeSlots,
    /// `$fill_up`: host after host.
    FillUp,
    /// `$round_robin`: one on each host in turn.
    RoundRobin,
}

impl AllocationRule {
    /// Parses the manual's words or a number.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "$pe_slots" => Some(Self::PeSlots),
            "$fill_up" => Some(Self::FillUp),
            "$round_robin" => Some(Self::RoundRobin),
            _ => text.parse().ok().filter(|n| *n > 0).map(Self::Fixed),
        }
    }
}

/// A parallel environment, as `qconf -sp` prints it.
#[derive(Debug, Clone)]
pub struct ParallelEnvironment {
    /// Everything as written.
    pub document: Document,
    /// `pe_name`.
    pub name: String,
    /// Slots of all its jobs together.
    pub slots: SlotCount,
    /// Admitted access lists.
    pub user_lists: Vec<String>,
    /// Denied access lists.
    pub xuser_lists: Vec<String>,
    /// Start procedure.
    pub start_proc_args: Option<Procedure>,
    /// Stop procedure.
    pub stop_proc_args: Option<Procedure>,
    /// Spreading of slots.
    pub allocation_rule: AllocationRule,
    /// Whether tasks are started through the execution daemon.
    pub control_slaves: bool,
    /// Whether the job script counts as a task.
    pub job_is_first_task: bool,
    /// One accounting record for all tasks.
    pub accounting_summary: bool,
}

const PE: Schema = Schema {
    what: "parallel environment",
    required: &["pe_name", "slots", "allocation_rule"],
    optional: &[
        "user_lists",
        "xuser_lists",
        "start_proc_args",
        "stop_proc_args",
        "control_slaves",
        "job_is_first_task",
        "urgency_slots",
        "accounting_summary",
        "qsort_args",
    ],
    unknown: Unknown::Refused,
};

impl ParallelEnvironment {
    /// Reads a file. There is an object unless a diagnostic is an error.
    pub fn read(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &PE);
        let out = &mut diagnostics;
        let rule = document.get("allocation_rule").unwrap_or("$pe_slots");
        let allocation_rule = AllocationRule::parse(rule).unwrap_or_else(|| {
            let message =
                format!("expected `$pe_slots`, `$fill_up`, `$round_robin` or a number, found `{rule}`");
            out.push(document.error("allocation_rule", "pe-allocation-rule", message));
            AllocationRule::PeSlots
        });
        let object = Self {
            name: document.typed("pe_name", Kind::Name, String::new(), out),
            slots: document.typed("slots", Kind::Slots, SlotCount(0), out),
            user_lists: document.typed("user_lists", Kind::Names, Vec::new(), out),
            xuser_lists: document.typed("xuser_lists", Kind::Names, Vec::new(), out),
            start_proc_args: document.typed("start_proc_args", Kind::Procedure, None, out),
            stop_proc_args: document.typed("stop_proc_args", Kind::Procedure, None, out),
            allocation_rule,
            control_slaves: document.typed("control_slaves", Kind::Bool, false, out),
            job_is_first_task: document.typed("job_is_first_task", Kind::Bool, true, out),
            accounting_summary: document.typed("accounting_summary", Kind::Bool, false, out),
            document,
        };
        finish(object, diagnostics)
    }
}

/// What takes the checkpoints (sge_checkpoint(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the manual's words")]
pub enum CheckpointInterface {
    Userdefined,
    ApplicationLevel,
    Transparent,
    Hibernator,
    Cpr,
}

/// A checkpoint environment, as `qconf -sckpt` prints it.
#[derive(Debug, Clone)]
pub struct CheckpointEnvironment {
    /// Everything as written.
    pub document: Document,
    /// `ckpt_name`.
    pub name: String,
    /// Who takes the checkpoint.
    pub interface: CheckpointInterface,
    /// `ckpt_command`, `migr_command`, `restart_command` and `clean_command`.
    pub commands: [Option<Procedure>; 4],
    /// Where checkpoints go.
    pub ckpt_dir: String,
    /// The signal that asks for a checkpoint.
    pub signal: Option<i32>,
    /// Occasions: letters of `s m x r`, or empty.
    pub when: String,
}

const CKPT: Schema = Schema {
    what: "checkpoint environment",
    required: &["ckpt_name", "interface"],
    optional: &[
        "ckpt_command",
        "migr_command",
        "restart_command",
        "clean_command",
        "ckpt_dir",
        "signal",
        "when",
    ],
    unknown: Unknown::Refused,
};

impl CheckpointEnvironment {
    /// Reads a file. There is an object unless a diagnostic is an error.
    pub fn read(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &CKPT);
        let out = &mut diagnostics;
        let word = document.get("interface").unwrap_or("userdefined").to_ascii_lowercase();
        let interface = match word.as_str() {
            "userdefined" => CheckpointInterface::Userdefined,
            "application-level" => CheckpointInterface::ApplicationLevel,
            "transparent" => CheckpointInterface::Transparent,
            "hibernator" => CheckpointInterface::Hibernator,
            "cpr" => CheckpointInterface::Cpr,
            _ => {
                let known = "`userdefined`, `application-level`, `transparent`, `hibernator` or `cpr`";
                let message = format!("expected {known}, found `{word}`");
                out.push(document.error("interface", "ckpt-interface", message));
                CheckpointInterface::Userdefined
            }
        };
        let text = document.get("signal").unwrap_or("none").to_ascii_uppercase();
        let signal =
            signal::number(&text).or_else(|| text.parse().ok().filter(|n| (1..=signal::HIGHEST).contains(n)));
        if signal.is_none() && text != "NONE" {
            let message = format!("expected a signal name, a number or `none`, found `{text}`");
            out.push(document.error("signal", "ckpt-signal", message));
        }
        let when = document.get("when").filter(|when| !when.eq_ignore_ascii_case("none")).unwrap_or("");
        if let Some(letter) = when.chars().find(|letter| !"smxr".contains(*letter)) {
            let message = format!("expected letters of `s m x r`, found `{letter}`");
            out.push(document.error("when", "ckpt-when", message));
        }
        let object = Self {
            name: document.typed("ckpt_name", Kind::Name, String::new(), out),
            interface,
            commands: ["ckpt_command", "migr_command", "restart_command", "clean_command"]
                .map(|name| document.typed(name, Kind::Procedure, None, out)),
            ckpt_dir: document.typed("ckpt_dir", Kind::Directory, "/tmp".to_owned(), out),
            signal,
            when: when.to_owned(),
            document,
        };
        finish(object, diagnostics)
    }
}

/// An execution host or the pseudo host `global`, as `qconf -se` prints it.
#[derive(Debug, Clone)]
pub struct ExecHost {
    /// Everything as written.
    pub document: Document,
    /// `hostname`.
    pub name: String,
    /// Capacities and fixed values.
    pub complex_values: Vec<ComplexValue>,
    /// Factors that load values are multiplied by.
    pub load_scaling: Vec<ComplexValue>,
    /// Admitted access lists.
    pub user_lists: Vec<String>,
    /// Denied access lists.
    pub xuser_lists: Vec<String>,
}

const HOST: Schema = Schema {
    what: "host",
    required: &["hostname"],
    optional: &[
        "load_scaling",
        "complex_values",
        "load_values",
        "processors",
        "user_lists",
        "xuser_lists",
        "projects",
        "xprojects",
        "usage_scaling",
        "report_variables",
    ],
    unknown: Unknown::Refused,
};

impl ExecHost {
    /// Reads a file. There is an object unless a diagnostic is an error.
    pub fn read(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &HOST);
        let out = &mut diagnostics;
        let object = Self {
            name: document.typed("hostname", Kind::Name, String::new(), out),
            complex_values: document.typed("complex_values", Kind::ComplexValues, Vec::new(), out),
            load_scaling: document.typed("load_scaling", Kind::ComplexValues, Vec::new(), out),
            user_lists: document.typed("user_lists", Kind::Names, Vec::new(), out),
            xuser_lists: document.typed("xuser_lists", Kind::Names, Vec::new(), out),
            document,
        };
        finish(object, diagnostics)
    }
}

/// A host group, as `qconf -shgrp` prints it.
#[derive(Debug, Clone)]
pub struct HostGroup {
    /// Everything as written.
    pub document: Document,
    /// The name with its `@`.
    pub name: String,
    /// Hosts and groups in it.
    pub members: Vec<HostId>,
}

const GROUP: Schema = Schema {
    what: "host group",
    required: &["group_name", "hostlist"],
    optional: &[],
    unknown: Unknown::Refused,
};

impl HostGroup {
    /// Reads a file. There is an object unless a diagnostic is an error.
    pub fn read(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &GROUP);
        let out = &mut diagnostics;
        let name = document.typed("group_name", Kind::Name, String::new(), out);
        if !name.starts_with('@') && document.get("group_name").is_some() {
            let message = format!("expected a name that starts with `@`, found `{name}`");
            out.push(document.error("group_name", "hostgroup-name", message));
        }
        let members = document.typed("hostlist", Kind::HostList, Vec::new(), out);
        finish(Self { name, members, document }, diagnostics)
    }
}

fn finish<T>(object: T, mut diagnostics: Vec<Diagnostic>) -> (Option<T>, Vec<Diagnostic>) {
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    let is_usable = !diagnostics.iter().any(Diagnostic::is_error);
    (is_usable.then_some(object), diagnostics)
}
