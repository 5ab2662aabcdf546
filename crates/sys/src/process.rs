//! Processes: making, naming, watching, signalling and reaping them.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::{check, check_long};

/// A process id greater than 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(libc::pid_t);

impl Pid {
    /// `None` for numbers that name no single process (0, negative) and for 1, which is nobody's job.
    #[must_use]
    pub const fn new(number: i32) -> Option<Self> {
        if number > 1 { Some(Self(number)) } else { None }
    }

    /// The calling process.
    #[must_use]
    pub fn current() -> Self {
        // SAFETY: cannot fail.
        Self(unsafe { libc::getpid() })
    }

    #[must_use]
    pub const fn number(self) -> i32 {
        self.0
    }
}

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Fork {
    Parent(Pid),
    Child,
}

/// Makes a copy of the process. The caller must be single-threaded: then the child may do everything the parent could.
///
/// # Errors
/// `EAGAIN` at the limit of processes, `ENOMEM`.
pub fn fork() -> io::Result<Fork> {
    // SAFETY: the shepherd never starts a thread, so no lock can be held by another one at this moment.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(Pid(pid))),
    }
}

/// As [`fork`], with the child in a cgroup v2 directory from its first moment (Linux 5.7). Moving a process there later
/// waits for all processors of the machine, some 20 ms.
///
/// # Errors
/// `EACCES` without the right to write to the directory's `cgroup.procs`, `EAGAIN`, `ENOMEM`, `ENOSYS`, `EOPNOTSUPP`.
pub fn fork_into(cgroup: BorrowedFd<'_>) -> io::Result<Fork> {
    // SAFETY: an all-zero `clone_args` is a valid value of this plain C struct.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    arguments.cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
    // SAFETY: no memory is shared and no stack given: the child goes on with a copy, as after fork, which is sound
    // because the shepherd has one thread. The C library keeps the old thread number in the child, which only matters
    // for pthread_kill and raise; the child uses neither and calls exec soon.
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match check_long(result)? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(Pid(
            libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?
        ))),
    }
}

/// From linux/sched.h; libc has it in the width of an int, which it does not fit.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Ends the process at once: no destructors, no buffers, for children that did not reach exec.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Sets the name that `ps` and execd's restart scan see; at most 15 bytes count.
pub fn set_name(name: &CStr) {
    // SAFETY: the string is terminated and outlives the call; cannot fail with a valid pointer.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Makes orphans among the descendants children of this process, so that they can be found and reaped.
///
/// # Errors
/// `EINVAL` before Linux 3.4.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })?;
    Ok(())
}

/// Starts a new session and process group.
///
/// # Errors
/// `EPERM` for the leader of a group.
pub fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    check(unsafe { libc::setsid() })?;
    Ok(())
}

/// Makes the calling process the leader of a group of its own.
///
/// # Errors
/// `EPERM` for the leader of a session.
pub fn new_group() -> io::Result<()> {
    // SAFETY: 0 and 0 name the calling process.
    check(unsafe { libc::setpgid(0, 0) })?;
    Ok(())
}

/// Leaves the session keyring that was inherited. A kernel without keyrings has none to leave.
pub fn new_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: a null name asks for an anonymous keyring; nothing is read or written.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}

/// The file mode creation mask.
pub fn set_umask(mask: u32) {
    // SAFETY: cannot fail.
    unsafe { libc::umask(mask) };
}

/// A handle that keeps naming the same process even if its number is used again.
///
/// # Errors
/// `ESRCH` where it does not exist any more, `EMFILE`, `ENOSYS` before Linux 5.3.
pub fn open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let fd = check_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.0, 0) })?;
    let fd = libc::c_int::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends a signal through a handle of [`open`].
///
/// # Errors
/// `ESRCH` where the process is gone, `EPERM`.
pub fn signal(handle: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the handle is open; no siginfo is passed.
    check_long(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal, none, 0) })?;
    Ok(())
}

/// Sends a signal by number: only for our own children, whose numbers cannot be used again before we reap them.
///
/// # Errors
/// `ESRCH`, `EPERM`.
pub fn kill_child(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: takes numbers only; a pid is greater than 1.
    check(unsafe { libc::kill(pid.0, signal) })?;
    Ok(())
}

/// Sends a signal to a process group.
///
/// # Errors
/// `ESRCH` where the group is empty, `EPERM` where none of it may be signalled.
pub fn kill_group(leader: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: takes numbers only; a group of a pid greater than 1 is never "everybody".
    check(unsafe { libc::kill(-leader.0, signal) })?;
    Ok(())
}

/// Waits for the end of a child and forgets how it was; for children that end at once.
pub fn wait_for(pid: Pid) {
    loop {
        // SAFETY: no status is asked for.
        let result = unsafe { libc::waitpid(pid.0, std::ptr::null_mut(), 0) };
        match check(result) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

/// What a reaped process and its own waited-for children used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rusage {
    pub user: Duration,
    pub system: Duration,
    /// KiB; the largest of the processes, not their sum.
    pub max_rss: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub blocks_in: u64,
    pub blocks_out: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Rusage {
    /// Adds another tree's usage.
    pub fn add(&mut self, other: &Self) {
        self.user += other.user;
        self.system += other.system;
        self.max_rss = self.max_rss.max(other.max_rss);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.blocks_in += other.blocks_in;
        self.blocks_out += other.blocks_out;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Exited(u8),
    Signalled { signal: u8, core: bool },
}

/// What [`reap`] found.
#[derive(Debug)]
pub enum Reaped {
    /// A child that ended, and what it used.
    Child(Pid, Status, Rusage),
    /// Children are there, none of them has ended.
    Running,
    /// There is no child at all. For a subreaper: no descendant.
    NoChildren,
}

/// Collects one ended child without waiting.
///
/// # Errors
/// None but those of a broken kernel; interruption is retried.
// The kernel's counters are not negative, and codes and signals fit their fields.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
pub fn reap() -> io::Result<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are valid for the call.
        let result = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        let pid = match check(result) {
            Ok(0) => return Ok(Reaped::Running),
            Ok(pid) => pid,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Reaped::NoChildren),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // SAFETY: zeroed at first and filled by the call; every bit pattern is valid.
        let usage = unsafe { usage.assume_init() };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, (t.tv_usec as u32) * 1000);
        let end = if libc::WIFSIGNALED(status) {
            Status::Signalled { signal: libc::WTERMSIG(status) as u8, core: libc::WCOREDUMP(status) }
        } else {
            Status::Exited(libc::WEXITSTATUS(status) as u8)
        };
        let rusage = Rusage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            max_rss: usage.ru_maxrss as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            blocks_in: usage.ru_inblock as u64,
            blocks_out: usage.ru_oublock as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        };
        return Ok(Reaped::Child(Pid(pid), end, rusage));
    }
}
