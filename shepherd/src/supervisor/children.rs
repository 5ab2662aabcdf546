//! The shepherd's own children: steps, methods, the guardian, the remover of TMPDIR.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use oxherd_handoff::{Key, files};
use oxherd_sys::process::{self, Fork, Pid};
use oxherd_sys::{clock, fd};

use super::{Report, Role, Supervisor};
use crate::cgroup::{Cgroup, Leaf};
use crate::guardian::Guardian;
use crate::job::Child;
use crate::machine::{Control, End, Event, KILL, Scope, Step};
use crate::step::credentials::Identity;
use crate::step::interactive::Streams;
use crate::step::procedure;
use crate::tmpdir;

impl Supervisor {
    /// Forks. In the child the closure runs and never returns.
    pub(super) fn fork(
        &mut self,
        role: Role,
        leaf: Option<Leaf>,
        streams: Option<Streams>,
        child: impl FnOnce(Child<'_>),
    ) -> io::Result<Pid> {
        // Nothing that waits to be written may be written twice.
        self.journal.flush();
        // Side by side with the first child: each fork makes the pages written since the last one dear again.
        self.start_guardian();
        let (reader, writer) = fd::pipe()?;
        fd::set_nonblocking(reader.as_fd())?;
        let shepherd = Pid::current();
        let (forked, door) = self.fork_in(leaf)?;
        match forked {
            Fork::Child => {
                crate::startup::in_child();
                drop(reader);
                // A child that hangs on its way must hold nothing of the shepherd's open, the guardian's pipe least of all.
                let writer = File::from(writer);
                let mut kept = vec![writer.as_fd()];
                kept.extend(door.as_ref().map(AsFd::as_fd));
                kept.extend(streams.iter().flat_map(Streams::descriptors));
                let _ = fd::close_all_but(&kept);
                child(Child {
                    spec: &self.spec,
                    limits: &self.limits,
                    privilege: self.privilege,
                    door,
                    shepherd,
                    report: writer,
                    job_exit: self.job_exit,
                    streams,
                });
                // Every closure ends in exec or in an exit of its own.
                process::exit_now(1)
            }
            Fork::Parent(pid) => {
                drop::<OwnedFd>(writer);
                self.children.push((pid, role));
                self.reports.push(Report { pipe: reader.into(), bytes: Vec::new(), about: role });
                Ok(pid)
            }
        }
    }

    /// Forks into a part of the job's cgroup; where the kernel cannot, the child gets the door to it instead.
    fn fork_in(&mut self, leaf: Option<Leaf>) -> io::Result<(Fork, Option<OwnedFd>)> {
        let Some((cgroup, leaf)) = self.containment.cgroup().zip(leaf) else {
            return Ok((process::fork()?, None));
        };
        let made = self
            .privilege
            .as_root(|| cgroup.directory(leaf).and_then(|directory| process::fork_into(directory.as_fd())));
        match made {
            Ok(forked) => Ok((forked, None)),
            Err(_) => {
                let door = self.privilege.as_root(|| cgroup.door(leaf));
                let door = match door {
                    Ok(door) => Some(door),
                    Err(error) => {
                        self.journal.trace(&format!("can't open the job's cgroup: {error}"));
                        None
                    }
                };
                Ok((process::fork()?, door))
            }
        }
    }

    /// Nothing of the job runs before its guardian is there.
    pub(super) fn start_guardian(&mut self) {
        if !std::mem::take(&mut self.guarded) {
            return;
        }
        match Guardian::start(self.privilege, self.containment.cgroup(), self.spec.add_grp_id()) {
            Ok(guardian) => {
                self.containment.add_helper(guardian.pid());
                self.guardian = Some(guardian);
            }
            Err(error) => self.journal.trace(&format!("no guardian for the job: {error}")),
        }
    }

    pub(super) fn start(&mut self, step: Step) {
        if self.children_ran {
            // A prolog may have added to it (8.1.9 reads it for each step).
            if let Err(refusal) = self.spec.read_environment() {
                self.journal.trace(&refusal.text);
            }
        }
        self.children_ran = true;
        if step == Step::Job {
            // execd starts the job's clock and its usage when it finds this file.
            if self.spec.config.flag(Key::WriteOsjobId, true).unwrap_or(true) {
                let gid = self.spec.add_grp_id().unwrap_or(0);
                if let Err(error) = self.journal.try_replace(files::ADDGRPID, format!("{gid}\n").as_bytes()) {
                    // Without it execd enforces no limit of the job: better not at all than without end.
                    self.feed(Event::Refused(None, format!("cannot write addgrpid of the job: {error}")));
                    return self.feed(Event::Ended(End::Exited(1)));
                }
            }
            self.started_at = clock::realtime();
            self.cpu_before = self.containment.cgroup().and_then(Cgroup::cpu).unwrap_or_default();
        }
        let leaf = match step {
            Step::Job => Some(Leaf::Job),
            // What an administrator's procedure starts is not the job's.
            _ if procedure::other_user(&self.spec, step).is_some() => None,
            _ => Some(Leaf::Procedures),
        };
        let streams = if step == Step::Job { self.open_channel() } else { Ok(None) };
        let forked = streams
            .and_then(|streams| self.fork(Role::Step(step), leaf, streams, |child| child.become_step(step)));
        match forked {
            Ok(pid) => {
                self.journal.trace(&format!("forked \"{}\" with pid {pid}", step.name()));
                if step == Step::Job {
                    self.job = Some(pid);
                    self.containment.set_job(pid);
                    crate::startup::set_job(pid);
                    self.journal.replace(files::JOB_PID, format!("{pid}\n").as_bytes());
                }
            }
            Err(error) => {
                let text = format!("can't start a process for {}: {error}", step.name());
                self.feed(Event::Refused(None, text));
                self.feed(Event::Ended(End::Exited(1)));
            }
        }
    }

    pub(super) fn run_method(&mut self, control: Control, command: &str) {
        let job = self.job;
        let forked = self.fork(Role::Method(control), Some(Leaf::Procedures), None, |child| {
            child.become_method(command, job)
        });
        match forked {
            Ok(pid) => {
                self.containment.add_helper(pid);
                self.journal.trace(&format!("starting {} command (pid= {pid}): {command}", control.name()));
            }
            Err(error) => {
                self.journal.trace(&format!(
                    "can't start the {} command: {error}: sending its signal",
                    control.name()
                ));
                self.feed(Event::MethodEnded(control, false));
                match control.signal() {
                    Some(KILL) => self.kill(Scope::Job),
                    Some(number) => {
                        self.signal(number);
                    }
                    None => {}
                }
            }
        }
    }

    pub(super) fn method(&self, control: Control) -> Option<Pid> {
        self.children.iter().find(|(_, role)| *role == Role::Method(control)).map(|(pid, _)| *pid)
    }

    pub(super) fn stop_method(&mut self, control: Control) {
        let early = |pid: Pid| self.early.iter().any(|(reaped, ..)| *reaped == pid);
        if let Some(pid) = self.method(control).filter(|pid| !early(*pid)) {
            // It is our child and not reaped: the number is still its own, and so is its group's.
            self.privilege.as_root(|| {
                let _ = process::kill_group(pid, KILL);
                let _ = process::kill_child(pid, KILL);
            });
        }
    }

    pub(super) fn remove_tmpdir(&mut self) {
        let Some(path) = self.spec.tmpdir.clone() else { return self.feed(Event::TmpdirRemoved) };
        let forked = self.fork(Role::Remover, None, None, |child| {
            let owner = Identity::of_owner(child.spec);
            let result = owner.and_then(|owner| tmpdir::remove(&path, &owner, child.privilege));
            child.end_remover(result)
        });
        match forked {
            Ok(pid) => self.containment.add_helper(pid),
            Err(error) => {
                self.journal.trace(&format!("can't start the removal of TMPDIR: {error}"));
                self.feed(Event::TmpdirRemoved);
            }
        }
    }
}
