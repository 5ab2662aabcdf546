//! What happens when the shepherd itself dies: SIGKILL, the kernel's out-of-memory killer, a crash.
//!
//! Stock leaves the job running for ever, untracked, and a job with `-r y` is started a second time beside it. Here
//! a forked copy of the shepherd waits at a pipe that only the shepherd holds. When it closes without a good-bye the
//! copy kills the job: by its cgroup where there is one, and by the additional group, scanned until nothing is found
//! any more. It costs one fork and some 60 kB per job; docs/decisions/002-guardian.md has the figures and what
//! else was tried.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use oxherd_sys::process::{self, Fork, Pid};
use oxherd_sys::{fd, poll};

use crate::cgroup::Cgroup;
use crate::machine::KILL;
use crate::privilege::Privilege;
use crate::procfs;

/// The shepherd's end of it.
#[derive(Debug)]
pub struct Guardian {
    pid: Pid,
    pipe: OwnedFd,
}

impl Guardian {
    /// Starts it.
    ///
    /// # Errors
    /// Those of pipe and fork: the job then runs without.
    pub fn start(privilege: Privilege, cgroup: Option<&Cgroup>, add_grp_id: Option<u32>) -> io::Result<Self> {
        let (reader, writer) = fd::pipe()?;
        let shepherd = Pid::current();
        match process::fork()? {
            Fork::Child => {
                crate::startup::in_child();
                drop(writer);
                guard(reader, shepherd, privilege, cgroup, add_grp_id)
            }
            Fork::Parent(pid) => Ok(Self { pid, pipe: writer }),
        }
    }

    #[must_use]
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// The job is over: the guardian goes.
    pub fn dismiss(self, privilege: Privilege) {
        // It is our child and not reaped yet: the number is its own.
        privilege.as_root(|| {
            let _ = process::kill_child(self.pid, KILL);
        });
        // If it could not be killed it ends by itself now, and finds nothing to kill.
        drop(self.pipe);
        // Reaped here, so that not even a dead process of ours is left to others.
        process::wait_for(self.pid);
    }
}

/// The guardian's life.
fn guard(
    pipe: OwnedFd,
    shepherd: Pid,
    privilege: Privilege,
    cgroup: Option<&Cgroup>,
    add_grp_id: Option<u32>,
) -> ! {
    // Not in the shepherd's group: who kills that means the shepherd. Signals stay blocked: nobody speaks to it.
    let _ = process::new_session();
    process::set_name(c"oxherd-guardian");
    privilege.raise();
    // Everything but the pipe belongs to the shepherd: a reader would wait for this copy of it to be closed.
    let _ = fd::close_all_but(&[pipe.as_fd()]);
    let mut ends = std::fs::File::from(pipe);
    let mut byte = [0];
    loop {
        match ends.read(&mut byte) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Not the end of the shepherd: it starts another guardian when this one goes.
            _ if i32::try_from(std::os::unix::process::parent_id()) == Ok(shepherd.number()) => {
                process::exit_now(1)
            }
            _ => break,
        }
    }
    kill_all(cgroup, add_grp_id);
    process::exit_now(0)
}

fn kill_all(cgroup: Option<&Cgroup>, add_grp_id: Option<u32>) {
    if let Some(cgroup) = cgroup {
        let _ = cgroup.kill(None);
    }
    if let Some(gid) = add_grp_id {
        // One pass can miss what forks while it looks; two empty ones in a row cannot both.
        let mut empty = 0;
        while empty < 2 {
            let found = procfs::with_group(gid);
            empty = if found.is_empty() { empty + 1 } else { 0 };
            for pid in found {
                if let Ok(handle) = process::open(pid)
                    && procfs::carries(pid, gid)
                {
                    let _ = process::signal(handle.as_fd(), KILL);
                }
            }
        }
    }
    if let Some(cgroup) = cgroup {
        // Its processes are dying; the directory can go when they are gone, and is harmless if that takes longer.
        for _ in 0..1000 {
            if cgroup.is_empty(None) != Some(false) {
                break;
            }
            let _ = poll::pause(std::time::Duration::from_millis(5));
        }
        cgroup.remove();
    }
}
