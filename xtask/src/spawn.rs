//! Starting and awaiting processes exactly as sge_execd starts its shepherds.
//!
//! std's `Command` cannot set saved ids, a descriptor limit or a signal mask without `pre_exec`, and neither
//! it nor `Child` tells what a process tree cost. This is the only unsafe code of xtask. The new process
//! shares our memory until it execs (`CLONE_VM | CLONE_VFORK`, what posix_spawn does), so that the size of
//! the starting program is not part of what is measured. xtask and the floor are single-threaded.
#![allow(unsafe_code, reason = "process creation; the one module of xtask that needs it")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::time::Duration;

/// What the new process is before it execs.
#[derive(Clone, Copy)]
pub(crate) enum Identity {
    /// As sge_execd starts a shepherd: real ids 0, effective and saved ids of the admin user.
    Admin { uid: u32, gid: u32 },
    /// As a job: own session, eight limits, groups, gid, uid, three opens.
    Job { uid: u32, gid: u32, additional: u32 },
}

/// One process to start; standard streams are /dev/null, nothing else is open.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) argv: &'a [&'a str],
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a [&'a str],
    pub(crate) identity: Identity,
    /// RLIMIT_NOFILE, soft and hard.
    pub(crate) descriptors: Option<u64>,
}

/// How a process ended and what it and everything it waited for cost.
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) user_us: i64,
    pub(crate) system_us: i64,
}

/// The signals that are blocked in a shepherd started by sge_execd 8.1.9 (SigBlk of /proc/PID/status).
const EXECD_MASK: u64 = 0xffff_fffe_69ba_8a01;

/// The eight limits of the floor, those that every queue sets.
const LIMITS: [libc::__rlimit_resource_t; 8] = [
    libc::RLIMIT_CPU,
    libc::RLIMIT_FSIZE,
    libc::RLIMIT_DATA,
    libc::RLIMIT_STACK,
    libc::RLIMIT_CORE,
    libc::RLIMIT_AS,
    libc::RLIMIT_RSS,
    libc::RLIMIT_NPROC,
];

const NULL: &std::ffi::CStr = c"/dev/null";

struct Prepared {
    program: CString,
    directory: CString,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    identity: Identity,
    descriptors: Option<u64>,
    /// What argv and envp point into.
    _strings: Vec<CString>,
}

impl Prepared {
    fn new(launch: &Launch<'_>) -> io::Result<Self> {
        let mut strings = Vec::new();
        let mut pointers = |texts: &[&str]| -> io::Result<Vec<*const c_char>> {
            let mut list = Vec::with_capacity(texts.len() + 1);
            for text in texts {
                let string = CString::new(*text)?;
                // The bytes live on the heap and stay where they are when the CString moves.
                list.push(string.as_ptr());
                strings.push(string);
            }
            list.push(ptr::null());
            Ok(list)
        };
        let argv = pointers(launch.argv)?;
        let envp = pointers(launch.environment)?;
        Ok(Self {
            program: CString::new(launch.program.as_os_str().as_bytes())?,
            directory: CString::new(launch.directory.as_os_str().as_bytes())?,
            argv,
            envp,
            identity: launch.identity,
            descriptors: launch.descriptors,
            _strings: strings,
        })
    }
}

/// Starts a process and returns its pid once it has become the program (or failed to: exit status 127).
pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<i32> {
    const STACK: usize = 64 * 1024;
    let mut prepared = Prepared::new(launch)?;
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let argument = ptr::from_mut(&mut prepared).cast::<c_void>();
    // SAFETY: `top` is the 16-byte aligned end of a stack nobody else uses; with CLONE_VFORK we do not run
    // until the child has execed or exited, so stack and argument outlive its use of them.
    let pid =
        unsafe { libc::clone(child, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, argument) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Becomes the program; returns only when that failed.
pub(crate) fn exec(launch: &Launch<'_>) -> io::Error {
    match Prepared::new(launch) {
        Ok(mut prepared) => {
            let step = child(ptr::from_mut(&mut prepared).cast());
            io::Error::other(format!("start failed at step {step}: {}", io::Error::last_os_error()))
        }
        Err(error) => error,
    }
}

/// Runs in the new process: system calls only, no allocation, no lock. Returns the failed step's number.
extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: both callers pass a pointer to a Prepared that outlives this call and is not written meanwhile.
    let prepared = unsafe { &*argument.cast::<Prepared>() };
    // SAFETY: the path is a C string of `prepared`.
    if unsafe { libc::chdir(prepared.directory.as_ptr()) } < 0 {
        return 121;
    }
    if let Some(limit) = prepared.descriptors {
        let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
        // SAFETY: `limit` is a valid rlimit on this stack.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } < 0 {
            return 122;
        }
    }
    // SAFETY: umask only sets a number.
    unsafe { libc::umask(0o022) };
    // SAFETY: std ignores SIGPIPE; the handler table is not shared with the parent (no CLONE_SIGHAND).
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if !become_identity(prepared.identity) {
        return 123;
    }
    for descriptor in 0..3 {
        // SAFETY: closing by number is what makes the next open return that number.
        unsafe { libc::close(descriptor) };
        let flags = if descriptor == 0 { libc::O_RDONLY } else { libc::O_WRONLY | libc::O_APPEND };
        // SAFETY: a static C string.
        if unsafe { libc::open(NULL.as_ptr(), flags) } < 0 {
            return 124;
        }
    }
    // SAFETY: a shared memory process has its own descriptor table (no CLONE_FILES); std's descriptors of the
    // parent are untouched.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    // SAFETY: argv and envp are null-terminated lists of C strings owned by `prepared`.
    unsafe { libc::execve(prepared.program.as_ptr(), prepared.argv.as_ptr(), prepared.envp.as_ptr()) };
    127
}

/// The raw calls throughout: glibc's would also change the other threads of a process, and this one shares
/// its memory with the parent.
fn become_identity(identity: Identity) -> bool {
    match identity {
        Identity::Admin { uid, gid } => {
            let groups = [gid];
            // SAFETY: one group id, read only.
            let mut done = unsafe { libc::syscall(libc::SYS_setgroups, 1, groups.as_ptr()) } == 0;
            // SAFETY: plain numbers.
            done &= unsafe { libc::syscall(libc::SYS_setresgid, 0, gid, gid) } == 0;
            // SAFETY: plain numbers.
            done &= unsafe { libc::syscall(libc::SYS_setresuid, 0, uid, uid) } == 0;
            let mask = EXECD_MASK;
            // SAFETY: eight bytes are read from `mask`, no old mask is asked for.
            done &= unsafe {
                libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0_usize, 8_usize)
            } == 0;
            done
        }
        Identity::Job { uid, gid, additional } => {
            // SAFETY: no arguments.
            unsafe { libc::setsid() };
            let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            for resource in LIMITS {
                // SAFETY: `limit` is a valid rlimit; where the hard limit may not be raised the call fails,
                // which costs the same.
                unsafe { libc::setrlimit(resource, &raw const limit) };
            }
            let groups = [gid, additional];
            // SAFETY: two group ids, read only.
            let mut done = unsafe { libc::syscall(libc::SYS_setgroups, 2, groups.as_ptr()) } == 0;
            // SAFETY: plain numbers.
            done &= unsafe { libc::syscall(libc::SYS_setgid, gid) } == 0;
            // SAFETY: plain numbers.
            done &= unsafe { libc::syscall(libc::SYS_setuid, uid) } == 0;
            done
        }
    }
}

/// Waits for one child of ours.
pub(crate) fn wait(pid: i32) -> io::Result<Ended> {
    wait_for(pid).map(|(_, ended)| ended)
}

/// Waits for whichever child ends next.
pub(crate) fn wait_any() -> io::Result<(i32, Ended)> {
    wait_for(-1)
}

fn wait_for(pid: i32) -> io::Result<(i32, Ended)> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let found = loop {
        // SAFETY: both out-pointers are valid for the call.
        let found = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if found >= 0 {
            break found;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    let microseconds = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let ended =
        Ended { status, user_us: microseconds(usage.ru_utime), system_us: microseconds(usage.ru_stime) };
    Ok((found, ended))
}

/// Sends a signal to one process, by pid.
pub(crate) fn kill(pid: i32, signal: i32) {
    // SAFETY: plain numbers; the callers pass pids of processes they started and have not reaped.
    unsafe { libc::kill(pid, signal) };
}

/// Takes the effective uid back from the saved real one, as every shepherd started by execd has to.
pub(crate) fn regain_root() {
    // SAFETY: plain numbers; where it is not allowed the following set-up fails and says so.
    unsafe { libc::syscall(libc::SYS_setresuid, -1, 0, -1) };
}

pub(crate) fn effective_uid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

/// The hard limit of open descriptors: what we can set for a measurement.
pub(crate) fn descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid out-pointer.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_max
}

/// A process that does nothing until its parent goes.
pub(crate) fn sleeper() -> io::Result<i32> {
    let pid = fork()?;
    if pid != 0 {
        return Ok(pid);
    }
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

/// Splits the process in two; 0 in the new one.
pub(crate) fn fork() -> io::Result<i32> {
    // SAFETY: xtask and its helpers are single-threaded, so the child may go on like any program.
    let pid = unsafe { libc::fork() };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Leaves session, process group and terminal.
pub(crate) fn new_session() {
    // SAFETY: no arguments; it fails for a group's leader, which is in a session of its own already.
    unsafe { libc::setsid() };
}

/// Goes before everything else of the host that wants a processor, where that is allowed.
pub(crate) fn hurry() {
    // SAFETY: plain numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// Ignores a signal from here on.
pub(crate) fn ignore(signal: i32) {
    // SAFETY: no handler of ours is involved.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Nanoseconds of the clock that all processes of the host share.
pub(crate) fn monotonic_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of this process in nanoseconds, from its creation on.
pub(crate) fn cpu_ns() -> i64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid out-pointer; both clocks exist on every Linux of ours.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A handle that becomes readable when its process has ended.
pub(crate) struct Watch(Option<OwnedFd>);

impl Watch {
    /// A process that is gone already is watched as one that has ended.
    pub(crate) fn new(pid: i32) -> Self {
        // SAFETY: plain numbers.
        let number = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let number = c_int::try_from(number).ok().filter(|number| *number >= 0);
        // SAFETY: the descriptor was just opened and belongs to nobody else.
        Self(number.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
    }
}

/// Waits until all of them have ended, and says when each did; None where the time was up first.
pub(crate) fn ends(watches: &[Watch], limit: Duration) -> Vec<Option<i64>> {
    let start = monotonic_ns();
    let limit = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    let mut found: Vec<Option<i64>> =
        watches.iter().map(|watch| watch.0.is_none().then_some(start)).collect();
    let mut left = limit;
    while found.contains(&None) {
        let mut waiting: Vec<libc::pollfd> = watches
            .iter()
            .zip(&found)
            .map(|(watch, end)| libc::pollfd {
                // A negative number is passed over.
                fd: watch.0.as_ref().filter(|_| end.is_none()).map_or(-1, AsRawFd::as_raw_fd),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // Rounded up, and none at all for a mere look.
        let timeout = c_int::try_from((left + 999_999) / 1_000_000).unwrap_or(c_int::MAX);
        let count = waiting.len() as libc::nfds_t;
        // SAFETY: `waiting` is a valid list of `count` entries.
        unsafe { libc::poll(waiting.as_mut_ptr(), count, timeout) };
        let now = monotonic_ns();
        for (end, one) in found.iter_mut().zip(&waiting) {
            if one.revents != 0 {
                *end = Some(now);
            }
        }
        left = limit - (now - start);
        if left <= 0 {
            break;
        }
    }
    found
}
