//! Limits over all processes of a job: `s_cpu`, `h_cpu`, `s_vmem` and `h_vmem` of queue_conf(5).
//!
//! The kernel enforces its part per process (setrlimit); the sum over the processes is sampled here, no more often
//! than the limit can be reached meanwhile.

use std::time::Duration;

/// The shortest time between two samples.
pub const SHORTEST: Duration = Duration::from_millis(20);
/// The longest: a job that stays far below its limits is still looked at.
const LONGEST: Duration = Duration::from_secs(1);
/// Bytes per second that all processes of a job together can fill at most: what two cores of a machine of 2020s reach
/// when they touch fresh pages, doubled.
const FILL_RATE: u64 = 4 << 30;

/// Limits of a whole job, slots included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobLimits {
    pub s_cpu: Option<Duration>,
    pub h_cpu: Option<Duration>,
    /// Bytes of resident memory and swap.
    pub s_vmem: Option<u64>,
    pub h_vmem: Option<u64>,
    /// Processors that the job can use at once.
    pub processors: u32,
}

/// What a job uses at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// CPU time of all its processes, ended ones included.
    pub cpu: Duration,
    /// Bytes of resident memory and swap.
    pub memory: u64,
    pub processes: usize,
}

/// Soft limits that were told already.
#[derive(Debug, Clone, Copy, Default)]
pub struct Warned {
    cpu: bool,
    memory: bool,
}

/// What a sample means.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Soft limits that are exceeded for the first time.
    pub warnings: Vec<String>,
    /// The hard limit that is exceeded, as a sentence with limit and use.
    pub exceeded: Option<String>,
    /// When to look again.
    pub next: Option<Duration>,
}

impl JobLimits {
    /// Whether anything is to be sampled.
    #[must_use]
    pub fn any(&self) -> bool {
        self.s_cpu.is_some() || self.h_cpu.is_some() || self.s_vmem.is_some() || self.h_vmem.is_some()
    }

    /// Judges a sample.
    pub fn judge(&self, sample: Sample, warned: &mut Warned) -> Verdict {
        let mut verdict = Verdict::default();
        let Sample { cpu, memory, processes } = sample;
        if let Some(limit) = self.h_vmem.filter(|limit| memory > *limit) {
            verdict.exceeded = Some(format!(
                "h_vmem of {} exceeded: {processes} processes of the job used {} and were ended",
                bytes(limit),
                bytes(memory)
            ));
        } else if let Some(limit) = self.h_cpu.filter(|limit| cpu >= *limit) {
            verdict.exceeded = Some(format!(
                "h_cpu of {} exceeded: the job used {} and was ended",
                seconds(limit),
                seconds(cpu)
            ));
        }
        if verdict.exceeded.is_some() {
            return verdict;
        }
        if let Some(limit) = self.s_vmem.filter(|limit| memory > *limit && !warned.memory) {
            warned.memory = true;
            verdict.warnings.push(format!(
                "s_vmem of {} exceeded: {} used; sending XCPU",
                bytes(limit),
                bytes(memory)
            ));
        }
        if let Some(limit) = self.s_cpu.filter(|limit| cpu >= *limit && !warned.cpu) {
            warned.cpu = true;
            verdict.warnings.push(format!(
                "s_cpu of {} exceeded: {} used; sending XCPU",
                seconds(limit),
                seconds(cpu)
            ));
        }
        verdict.next = self.next(sample, *warned);
        verdict
    }

    /// The time within which none of the limits that are still ahead can be reached.
    fn next(&self, sample: Sample, warned: Warned) -> Option<Duration> {
        let memory = [self.h_vmem, self.s_vmem.filter(|_| !warned.memory)];
        let memory = memory.into_iter().flatten().map(|limit| {
            let room = limit.saturating_sub(sample.memory);
            Duration::from_millis(room / (FILL_RATE / 1000)).min(LONGEST)
        });
        let cpu = [self.h_cpu, self.s_cpu.filter(|_| !warned.cpu)];
        let cpu =
            cpu.into_iter().flatten().map(|limit| limit.saturating_sub(sample.cpu) / self.processors.max(1));
        memory.chain(cpu).min().map(|wait| wait.max(SHORTEST))
    }
}

/// A time for people: whole seconds plain, others with two digits.
#[must_use]
pub fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

/// A size for people, in the multipliers of Grid Engine (1024).
#[must_use]
pub fn bytes(size: u64) -> String {
    const UNITS: [(u64, char); 4] = [(1 << 40, 'T'), (1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    match UNITS.iter().find(|(unit, _)| size >= *unit) {
        Some((unit, letter)) => {
            let tenths = u128::from(size) * 10 / u128::from(*unit);
            if tenths % 10 == 0 {
                format!("{}{letter}", tenths / 10)
            } else {
                format!("{}.{}{letter}", tenths / 10, tenths % 10)
            }
        }
        None => format!("{size} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: JobLimits = JobLimits {
        s_cpu: Some(Duration::from_secs(2)),
        h_cpu: Some(Duration::from_secs(4)),
        s_vmem: None,
        h_vmem: Some(200 << 20),
        processors: 2,
    };

    fn judge(cpu: u64, memory: u64, warned: &mut Warned) -> Verdict {
        LIMITS.judge(Sample { cpu: Duration::from_secs(cpu), memory, processes: 4 }, warned)
    }

    #[test]
    fn a_soft_limit_is_told_once_and_a_hard_one_ends() {
        let mut warned = Warned::default();
        assert_eq!(judge(1, 0, &mut warned).warnings.len(), 0);
        assert_eq!(judge(2, 0, &mut warned).warnings, ["s_cpu of 2 s exceeded: 2 s used; sending XCPU"]);
        assert_eq!(judge(3, 0, &mut warned).warnings.len(), 0);
        assert_eq!(
            judge(4, 0, &mut warned).exceeded.as_deref(),
            Some("h_cpu of 4 s exceeded: the job used 4 s and was ended")
        );
        assert_eq!(
            judge(0, 300 << 20, &mut warned).exceeded.as_deref(),
            Some("h_vmem of 200M exceeded: 4 processes of the job used 300M and were ended")
        );
    }

    #[test]
    fn the_next_sample_comes_before_a_limit_can_be_reached() {
        let mut warned = Warned::default();
        // 200M can be filled in some 49 ms, 2 s of CPU used by two processors in one second.
        assert_eq!(judge(0, 0, &mut warned).next, Some(Duration::from_millis(48)));
        assert_eq!(judge(0, 199 << 20, &mut warned).next, Some(SHORTEST));
        let cpu = JobLimits { h_vmem: None, ..LIMITS };
        let sample = Sample { cpu: Duration::ZERO, memory: 0, processes: 1 };
        assert_eq!(cpu.judge(sample, &mut warned).next, Some(Duration::from_secs(1)));
    }

    #[test]
    fn sizes_and_times_are_readable() {
        assert_eq!(bytes(1536), "1.5K");
        assert_eq!(bytes(200 << 20), "200M");
        assert_eq!(bytes(7), "7 bytes");
        assert_eq!(seconds(Duration::from_millis(3004)), "3.00 s");
    }
}
