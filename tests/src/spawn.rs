//! Starting and signalling processes as a stock execd does. The only unsafe code of the tests.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::accounts::Account;

/// The signals a stock execd has blocked when it starts a shepherd, bit n-1 for signal n.
pub const EXECD_BLOCKED: u64 = 0xffff_fffe_69ba_8a01;

/// Makes `command` start with execd's identity, signal mask, umask and descriptors.
pub fn as_execd(command: &mut Command, admin: &Account) {
    let (uid, gid) = (admin.uid as usize, admin.gid as usize);
    let groups = [admin.gid];
    let mask = EXECD_BLOCKED;
    let enter = move || {
        system_call(libc::SYS_setgroups, [groups.len(), groups.as_ptr().addr(), 0, 0])?;
        system_call(libc::SYS_setresgid, [0, gid, gid, 0])?;
        system_call(libc::SYS_setresuid, [0, uid, uid, 0])?;
        system_call(libc::SYS_umask, [0o022, 0, 0, 0])?;
        let default_action = [0_usize; 4];
        for signal in 1..=64 {
            // Refused for KILL and STOP, which cannot have another disposition anyway.
            let _ = system_call(
                libc::SYS_rt_sigaction,
                [signal, default_action.as_ptr().addr(), 0, size_of::<u64>()],
            );
        }
        let set = usize::try_from(libc::SIG_SETMASK).unwrap_or_default();
        system_call(libc::SYS_rt_sigprocmask, [set, (&raw const mask).addr(), 0, size_of::<u64>()])?;
        // What the test runner left open would count as the shepherd's; the exec error pipe of std is close-on-exec.
        let cloexec = usize::try_from(libc::CLOSE_RANGE_CLOEXEC).unwrap_or_default();
        system_call(libc::SYS_close_range, [3, u32::MAX as usize, cloexec, 0])
    };
    // SAFETY: the closure only makes system calls on captured plain values: async-signal-safe after fork.
    unsafe { command.pre_exec(enter) };
}

/// Sends a signal as the admin user with real uid 0, as execd does.
pub fn signal_as_admin(pid: i32, signal: i32, admin: &Account) -> io::Result<()> {
    let uid = admin.uid as usize;
    // The raw system call changes the credentials of one thread only; the thread ends with them.
    let sender = std::thread::spawn(move || {
        system_call(libc::SYS_setresuid, [0, uid, uid, 0])?;
        kill(pid, signal)
    });
    sender.join().expect("the signalling thread does not panic")
}

/// Sends a signal as root.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: kill takes plain integers.
    let result = unsafe { libc::kill(pid, signal) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn system_call(number: libc::c_long, args: [usize; 4]) -> io::Result<()> {
    let [a, b, c, d] = args;
    // SAFETY: the callers above pass the arguments their call documents; pointers among them outlive the call.
    let result = unsafe { libc::syscall(number, a, b, c, d) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
