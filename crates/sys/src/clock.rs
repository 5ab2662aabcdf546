//! Time: a clock that never steps for deadlines, the calendar for records.

use std::io;
use std::time::Duration;

fn read(id: libc::clockid_t) -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec that outlives the call.
    unsafe { libc::clock_gettime(id, &raw mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Time since some point before the start of the system. Goes on while the machine sleeps, so that a wall-clock
/// limit means what it says; never steps.
#[must_use]
pub fn boottime() -> Duration {
    read(libc::CLOCK_BOOTTIME)
}

/// Time since the epoch, UTC. Steps when the administrator or NTP sets the clock.
#[must_use]
pub fn realtime() -> Duration {
    read(libc::CLOCK_REALTIME)
}

/// Broken-down local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    pub year: i32,
    /// 1 to 12
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    /// 0 to 60
    pub second: u8,
}

/// Local time of a number of seconds since the epoch.
///
/// # Errors
/// `EOVERFLOW` where the year does not fit.
// The fields of `tm` are within the ranges of their types by the C standard.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn local(seconds: u64) -> io::Result<Local> {
    let time = libc::time_t::try_from(seconds).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: an all-zero `tm` is a valid value of this plain C struct.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call; `localtime_r` keeps neither. The program is single-threaded or
    // does not change TZ while it runs.
    if unsafe { libc::localtime_r(&raw const time, &raw mut tm) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    Ok(Local {
        year: tm.tm_year + 1900,
        month: (tm.tm_mon + 1) as u8,
        day: tm.tm_mday as u8,
        hour: tm.tm_hour as u8,
        minute: tm.tm_min as u8,
        second: tm.tm_sec as u8,
    })
}
