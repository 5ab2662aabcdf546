//! Reaching every process of the job, and knowing when none is left.
//!
//! The shepherd is a child subreaper: whatever a job starts stays its descendant, also after double forks and
//! `setsid`, and comes home as a child when its parent ends. So "no child is left" is a proof that a scan of all
//! processes cannot give, and it costs nothing for other people's processes. A cgroup ([`crate::cgroup`]), where one
//! can be had, adds killing and freezing in one stroke.
//!
//! Not everything below the shepherd is the job: running methods are left alone, what a prolog or PE start left
//! running as the job owner is kept until the end, and what a `user@` procedure started is the administrator's.

use std::collections::BTreeSet;

use oxherd_sys::process::{self, Pid};

use crate::cgroup::{Cgroup, Leaf};
use crate::machine::{CONT, KILL, STOP, Scope};
use crate::privilege::Privilege;
use crate::procfs;

/// How often a list of processes is taken again while new ones appear in it.
const ROUNDS: usize = 64;
/// How many processes a message names.
const NAMED: usize = 32;

/// What is known of the processes below the shepherd.
#[derive(Debug)]
pub struct Containment {
    privilege: Privilege,
    cgroup: Option<Cgroup>,
    /// The kernel lists children.
    listed: bool,
    /// The group that marks the job's processes.
    add_grp_id: Option<u32>,
    /// `enable_addgrp_kill`; without it only the job's process group is reached.
    whole: bool,
    job: Option<Pid>,
    /// Running methods and the tmpdir's remover.
    helpers: Vec<Pid>,
    /// Left by procedures of the job owner.
    kept: Vec<Pid>,
    /// Left by procedures of other users.
    foreign: Vec<Pid>,
}

impl Containment {
    #[must_use]
    pub fn new(privilege: Privilege, cgroup: Option<Cgroup>, add_grp_id: Option<u32>, whole: bool) -> Self {
        Self {
            privilege,
            cgroup,
            listed: procfs::children_listed(),
            add_grp_id,
            whole,
            job: None,
            helpers: Vec::new(),
            kept: Vec::new(),
            foreign: Vec::new(),
        }
    }

    #[must_use]
    pub const fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// What this host lacks, as a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.listed {
            remarks.push(
                "this kernel does not list children: all processes of the host are looked at".to_owned(),
            );
        }
        if !self.whole {
            remarks.push("enable_addgrp_kill is off: only the job's process group is signalled".to_owned());
        }
        remarks
    }

    pub const fn set_job(&mut self, pid: Pid) {
        self.job = Some(pid);
    }

    pub fn add_helper(&mut self, pid: Pid) {
        self.helpers.push(pid);
    }

    /// Forgets a process that was reaped: its number may come back as another's.
    pub fn reaped(&mut self, pid: Pid) {
        for list in [&mut self.helpers, &mut self.kept, &mut self.foreign] {
            list.retain(|other| *other != pid);
        }
    }

    /// Whether a child is neither the job's nor on its way to be.
    #[must_use]
    pub fn is_apart(&self, pid: Pid) -> bool {
        self.helpers.contains(&pid) || self.kept.contains(&pid) || self.foreign.contains(&pid)
    }

    /// A procedure is over: what it left running is the administrator's, or is kept until the end.
    ///
    /// Something of the job owner's that comes home meanwhile must not pass for the administrator's: it carries the
    /// job's group. Where there is no such group nobody can tell, and nothing is the administrator's.
    pub fn procedure_ended(&mut self, foreign: bool) {
        let left: Vec<_> =
            self.children(Pid::current()).into_iter().filter(|pid| !self.is_apart(*pid)).collect();
        // As root: where /proc is mounted with hidepid the admin user sees nothing of others' processes.
        let privilege = self.privilege;
        privilege.as_root(|| {
            for pid in left {
                match self.add_grp_id {
                    Some(gid) if foreign && !procfs::carries(pid, gid) => self.foreign.push(pid),
                    _ => self.kept.push(pid),
                }
            }
        });
    }

    fn children(&self, parent: Pid) -> Vec<Pid> {
        if self.listed {
            return procfs::children(parent);
        }
        procfs::parents().into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
    }

    /// All living and dead descendants in a scope.
    fn members(&self, scope: Scope) -> BTreeSet<Pid> {
        let mut found = BTreeSet::new();
        let mut open = vec![Pid::current()];
        let table = if self.listed { Vec::new() } else { procfs::parents() };
        while let Some(parent) = open.pop() {
            let children = if self.listed {
                procfs::children(parent)
            } else {
                table.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid).collect()
            };
            for child in children {
                let apart = self.helpers.contains(&child)
                    || self.foreign.contains(&child)
                    || (scope == Scope::Job && self.kept.contains(&child));
                if !apart && found.insert(child) {
                    open.push(child);
                }
            }
        }
        if !self.whole {
            let group = self.job;
            found.retain(|pid| procfs::group(*pid) == group);
        }
        found
    }

    /// Everything that runs as the job owner, what a prolog left included: for limits and usage.
    #[must_use]
    pub fn job_processes(&self) -> BTreeSet<Pid> {
        self.privilege.as_root(|| self.members(Scope::Everything))
    }

    /// Sends a signal to every process of the job, once each, also to those that appear meanwhile. Returns how many.
    ///
    /// `between` is called between two looks and must reap: this process is the parent of all orphans, and a chain of
    /// forks would fill the process table of the host with dead ones meanwhile.
    pub fn signal(&self, number: i32, between: &mut dyn FnMut()) -> usize {
        self.privilege.as_root(|| {
            // Nothing can fork while it is frozen, so one list is all of them.
            let frozen =
                number == STOP && self.cgroup.as_ref().is_some_and(|c| c.freeze(Leaf::Job, true).is_ok());
            // What a prolog left running must not go on computing while the job is stopped.
            let scope = if matches!(number, STOP | CONT) { Scope::Everything } else { Scope::Job };
            let told = self.signal_members(scope, number, between);
            if frozen && let Some(cgroup) = &self.cgroup {
                // If this fails the job stays stopped, which is what was asked for; a resume tries again.
                let _ = cgroup.freeze(Leaf::Job, false);
            }
            told
        })
    }

    fn signal_members(&self, scope: Scope, number: i32, between: &mut dyn FnMut()) -> usize {
        let mut told = BTreeSet::new();
        for _ in 0..ROUNDS {
            let members = self.members(scope);
            let own: BTreeSet<_> = self.children(Pid::current()).into_iter().collect();
            let mut new = false;
            for pid in &members {
                if told.insert(*pid) {
                    new = true;
                    if own.contains(pid) {
                        // Ours and not reaped: the number is its own.
                        let _ = process::kill_child(*pid, number);
                    } else {
                        signal_member(*pid, &members, number);
                    }
                }
            }
            if !new {
                break;
            }
            between();
        }
        told.len()
    }

    /// Kills the processes of a scope that are there now. Those whose parents die with them come home and are found
    /// by the next call.
    ///
    /// Only children are looked at: when none is left there is no descendant either, and a list of children is one
    /// read where a walk through the tree is several for each process. A chain that forks without end makes
    /// thousands of dead a second; whoever looks at each of them for long never catches up.
    pub fn kill(&self, scope: Scope, between: &mut dyn FnMut()) {
        self.privilege.as_root(|| {
            if !self.whole {
                self.signal_members(scope, KILL, between);
                return;
            }
            if let Some(cgroup) = &self.cgroup {
                let leaf = match scope {
                    Scope::Job => Some(Leaf::Job),
                    // Methods and procedures of other users are not in the cgroup's two leaves by then.
                    Scope::Everything => None,
                };
                // What cannot be killed this way is found below.
                let _ = cgroup.kill(leaf);
            }
            for pid in self.own_children(scope) {
                // Ours and not reaped: the number is its own. Dead already, or root's while we are not: the sweep at
                // the end tells the difference.
                let _ = process::kill_child(pid, KILL);
            }
            // A chain that grows downwards would outrun whoever kills one generation at a time.
            between();
            self.signal_members(scope, KILL, between);
        });
    }

    /// The shepherd's children in a scope, the dead included.
    fn own_children(&self, scope: Scope) -> Vec<Pid> {
        let mut children = self.children(Pid::current());
        children.retain(|child| {
            let apart = self.helpers.contains(child)
                || self.foreign.contains(child)
                || (scope == Scope::Job && self.kept.contains(child));
            !apart
        });
        children
    }

    /// Whether a scope is empty: no descendant, and no process in the cgroup. Everything that ended must have been
    /// reaped before the question.
    #[must_use]
    pub fn is_empty(&self, scope: Scope) -> bool {
        if !self.whole {
            return true;
        }
        self.privilege.as_root(|| {
            let leaf = match scope {
                Scope::Job => Some(Leaf::Job),
                Scope::Everything => None,
            };
            self.own_children(scope).is_empty()
                && self.cgroup.as_ref().is_none_or(|cgroup| cgroup.is_empty(leaf) != Some(false))
        })
    }

    /// The processes of a scope with what they are waiting for.
    #[must_use]
    pub fn describe(&self, scope: Scope) -> String {
        self.privilege.as_root(|| {
            let all = self.members(scope);
            let more = all.len().saturating_sub(NAMED);
            let named: Vec<_> = all.into_iter().take(NAMED).map(procfs::describe).collect();
            let named = named.join(", ");
            if more > 0 { format!("{named} and {more} more") } else { named }
        })
    }

    /// Removes the cgroup.
    pub fn remove(&self) {
        if let Some(cgroup) = &self.cgroup {
            self.privilege.as_root(|| cgroup.remove());
        }
    }
}

/// Signals a process through a handle, after a look that the handle still names one of ours: between the listing and
/// the opening its number could have become somebody else's.
fn signal_member(pid: Pid, members: &BTreeSet<Pid>, number: i32) {
    let Ok(handle) = process::open(pid) else { return };
    let ours =
        procfs::parent(pid).is_some_and(|parent| parent == Pid::current() || members.contains(&parent));
    if ours {
        // Gone already, or a setuid program while we are not root: the sweep at the end tells the difference.
        let _ = process::signal(std::os::fd::AsFd::as_fd(&handle), number);
    }
}
