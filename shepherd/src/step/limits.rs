//! RESOURCE LIMITS: what setrlimit(2) can hold, for the job, its procedures and its methods.
//!
//! Observed on 8.1.9: each value is parsed, raised to a floor, multiplied by the slots on this host where it is one of
//! those that are, then set; a soft limit above its hard one is lowered; a failing setrlimit is traced and ignored.

use oxherd_handoff::Key;
use oxherd_model::specifier::{self, Writer};
use oxherd_sys::limits::{self, Pair, Resource};

use crate::spec::Spec;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Memory,
    /// One of execd_params: `UNDEFINED` leaves it alone.
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slots {
    /// Never multiplied.
    No,
    Yes,
    /// Multiplied unless the complex is consumed per job; keys of hard and soft.
    Unless(Key, Key),
}

struct Row {
    resource: Resource,
    /// As in the trace of 8.1.9.
    name: &'static str,
    hard: Key,
    soft: Key,
    kind: Kind,
    floor: u64,
    ceiling: u64,
    slots: Slots,
}

const MIB: u64 = 1 << 20;

#[rustfmt::skip]
const TABLE: [Row; 11] = [
    Row { resource: Resource::Cpu, name: "RLIMIT_CPU", hard: Key::HCpu, soft: Key::SCpu, kind: Kind::Time,
          floor: 2, ceiling: u64::MAX, slots: Slots::Unless(Key::HCpuJob, Key::SCpuJob) },
    Row { resource: Resource::FileSize, name: "RLIMIT_FSIZE", hard: Key::HFsize, soft: Key::SFsize, kind: Kind::Memory,
          floor: 15 * 1024, ceiling: u64::MAX, slots: Slots::No },
    Row { resource: Resource::Data, name: "RLIMIT_DATA", hard: Key::HData, soft: Key::SData, kind: Kind::Memory,
          floor: 10 * MIB, ceiling: u64::MAX, slots: Slots::Unless(Key::HDataJob, Key::SDataJob) },
    Row { resource: Resource::Stack, name: "RLIMIT_STACK", hard: Key::HStack, soft: Key::SStack, kind: Kind::Memory,
          floor: MIB, ceiling: u64::MAX, slots: Slots::Unless(Key::HStackJob, Key::SStackJob) },
    Row { resource: Resource::Core, name: "RLIMIT_CORE", hard: Key::HCore, soft: Key::SCore, kind: Kind::Memory,
          floor: 0, ceiling: u64::MAX, slots: Slots::No },
    Row { resource: Resource::Descriptors, name: "RLIMIT_NOFILE", hard: Key::HDescriptors, soft: Key::SDescriptors,
          kind: Kind::Count, floor: 100, ceiling: 65535, slots: Slots::Yes },
    Row { resource: Resource::Processes, name: "RLIMIT_NPROC", hard: Key::HMaxproc, soft: Key::SMaxproc,
          kind: Kind::Count, floor: 20, ceiling: u64::MAX, slots: Slots::Yes },
    Row { resource: Resource::MemoryLocked, name: "RLIMIT_MEMLOCK", hard: Key::HMemorylocked, soft: Key::SMemorylocked,
          kind: Kind::Count, floor: 4096, ceiling: u64::MAX, slots: Slots::Yes },
    Row { resource: Resource::Locks, name: "RLIMIT_LOCKS", hard: Key::HLocks, soft: Key::SLocks, kind: Kind::Count,
          floor: 2, ceiling: u64::MAX, slots: Slots::Yes },
    Row { resource: Resource::Rss, name: "RLIMIT_RSS", hard: Key::HRss, soft: Key::SRss, kind: Kind::Memory,
          floor: 10 * MIB, ceiling: u64::MAX, slots: Slots::No },
    // Last: from here on this process itself may not grow any more.
    Row { resource: Resource::AddressSpace, name: "RLIMIT_VMEM/RLIMIT_AS", hard: Key::HVmem, soft: Key::SVmem,
          kind: Kind::Memory, floor: 10 * MIB, ceiling: u64::MAX, slots: Slots::Unless(Key::HVmemJob, Key::SVmemJob) },
];

/// The limits of a job, parsed before anything is started so that a broken value has a sentence and no child.
#[derive(Debug)]
pub struct Limits {
    rows: Vec<(usize, Pair)>,
}

impl Limits {
    /// Reads all limits of `config`.
    ///
    /// # Errors
    /// A sentence that names the limit and the value.
    pub fn parse(spec: &Spec) -> Result<Self, String> {
        let slots = spec.config.number(Key::HostSlots, 1).map_err(|error| error.to_string())?;
        let slots = u64::try_from(slots).unwrap_or(1).max(1);
        let mut rows = Vec::new();
        for (index, row) in TABLE.iter().enumerate() {
            let hard = value(spec, row, row.hard, slots)?;
            let soft = value(spec, row, row.soft, slots)?;
            // Where only one of a pair is there, it is meant for both.
            let (Some(hard), Some(soft)) = (hard.or(soft), soft.or(hard)) else { continue };
            let soft = match (soft, hard) {
                (Some(soft), Some(hard)) => Some(soft.min(hard)),
                (None, hard) => hard,
                (soft, None) => soft,
            };
            rows.push((index, Pair { soft, hard }));
        }
        Ok(Self { rows })
    }

    /// Sets them in the calling process and returns what the trace says of each, for the job.
    #[must_use]
    pub fn apply(&self, traced: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, wanted) in &self.rows {
            let row = &TABLE[*index];
            let result = limits::set(row.resource, *wanted);
            let got = if result.is_ok() { Ok(*wanted) } else { limits::get(row.resource) };
            if traced && let Ok(got) = got {
                lines.push(format!(
                    "{} setting: (soft {} hard {}) resulting: (soft {} hard {})",
                    row.name,
                    shown(wanted.soft),
                    shown(wanted.hard),
                    shown(got.soft),
                    shown(got.hard)
                ));
            }
            if let Err(error) = result {
                lines.push(format!("setrlimit of {} failed: {error}", row.name));
            }
        }
        lines
    }
}

/// `None`: not to be touched; `Some(None)`: no limit.
fn value(spec: &Spec, row: &Row, key: Key, slots: u64) -> Result<Option<Option<u64>>, String> {
    let text = spec.config.shown(key);
    let text = text.trim();
    if text.eq_ignore_ascii_case("UNDEFINED") || (text.is_empty() && row.kind == Kind::Count) {
        return Ok(None);
    }
    // A missing line of the others means no limit, which is also the queue's default.
    let text = if text.is_empty() { "INFINITY" } else { text };
    let fail = |error: specifier::SpecifierError| format!("{}: {error}", key.name());
    let limit = match row.kind {
        Kind::Time => specifier::parse_time(text, Writer::Request).map_err(fail)?.value.finite().map(|l| l.0),
        _ => specifier::parse_memory(text, Writer::Request).map_err(fail)?.value.finite().map(|l| l.0),
    };
    let per_job = |flag: Key| spec.config.flag(flag, false).map_err(|error| error.to_string());
    let times = match row.slots {
        Slots::No => 1,
        Slots::Yes => slots,
        Slots::Unless(hard, soft) => {
            if per_job(if key == row.hard { hard } else { soft })? {
                1
            } else {
                slots
            }
        }
    };
    Ok(Some(limit.and_then(|limit| limit.max(row.floor).min(row.ceiling).checked_mul(times))))
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or_else(|| "INFINITY".to_owned(), |limit| limit.to_string())
}
