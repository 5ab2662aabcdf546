//! What the job uses: samples for its limits, and the file `usage` at its end.

use std::time::Duration;

use oxherd_handoff::{Usage, files};

use super::Supervisor;
use crate::cgroup::Cgroup;
use crate::limit::Sample;
use crate::machine::{End, JobEnd};
use crate::procfs;

impl Supervisor {
    pub(super) fn sample(&self) -> Sample {
        let processes = self.containment.job_processes();
        self.privilege.as_root(|| {
            let cpu = self.containment.cgroup().and_then(Cgroup::cpu);
            let cpu = cpu.map(|cpu| cpu.saturating_sub(self.cpu_before)).unwrap_or_else(|| {
                let living: Duration = processes.iter().map(|pid| procfs::cpu(*pid)).sum();
                living + self.usage.user + self.usage.system
            });
            let memory = processes.iter().map(|pid| procfs::memory(*pid)).sum();
            Sample { cpu, memory, processes: processes.len() }
        })
    }

    pub(super) fn write_usage(&mut self, job: JobEnd) {
        let signal = match job.end {
            // A limit is told by its code; with a signal execd would make 100 of it.
            End::Signalled { signal, .. } if !job.limited => u32::from(signal),
            _ => 0,
        };
        let start = self.started_at.as_secs();
        let usage = Usage {
            wait_status: job.end.wait_status(),
            exit_status: u32::from(job.end.status()),
            signal,
            start_time: start,
            // The clock may have been set meanwhile: the length is measured with one that cannot be.
            end_time: (self.started_at + job.ran).as_secs(),
            ru_wallclock: (self.started_at + job.ran).as_secs() - start,
            ru_utime: self.usage.user.as_secs_f64(),
            ru_stime: self.usage.system.as_secs_f64(),
            ru_maxrss: self.usage.max_rss,
            ru_minflt: self.usage.minor_faults,
            ru_majflt: self.usage.major_faults,
            ru_inblock: self.usage.blocks_in,
            ru_oublock: self.usage.blocks_out,
            ru_nvcsw: self.usage.voluntary_switches,
            ru_nivcsw: self.usage.involuntary_switches,
        };
        if let Err(error) = self.journal.try_replace(files::USAGE, usage.text().as_bytes()) {
            // Not a word of usage would look like a job that was deleted before it ran.
            self.journal.problem(
                oxherd_handoff::ExitState::AfterJob,
                &format!("cannot write usage of the job: {error}"),
            );
        }
    }
}
