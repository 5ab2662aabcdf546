//! The `usage` file: how the job ended and what it used, one `key=value` a line.

use std::collections::HashMap;

/// How a process ended, in the terms of wait(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Exit code 0 to 255.
    Exited(u8),
    /// System signal number, and whether a core was written.
    Signalled { signal: u8, core: bool },
}

impl End {
    /// 0 to 255: the exit code, or 128 and the signal.
    #[must_use]
    pub const fn status(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled { signal, .. } => signal.saturating_add(128),
        }
    }

    /// Grid Engine's own encoding, which only waiting clients (`qsub -sync y`, DRMAA) see: bit 0 exited, bit 1
    /// signalled, bit 2 core written, bits 4 to 11 the exit code, from bit 12 on Grid Engine's signal number.
    #[must_use]
    pub fn wait_status(self) -> u32 {
        match self {
            Self::Exited(code) => 1 | u32::from(code) << 4,
            Self::Signalled { signal, core } => 2 | u32::from(core) << 2 | grid_engine_signal(signal) << 12,
        }
    }
}

/// Grid Engine's number of a Linux signal (observed on 8.1.9); all bits set where it has none.
fn grid_engine_signal(signal: u8) -> u32 {
    const NUMBERS: [(u8, u32); 26] = [
        (1, 901),
        (2, 902),
        (3, 903),
        (4, 904),
        (5, 905),
        (6, 906),
        (8, 909),
        (9, 910),
        (7, 911),
        (11, 912),
        (13, 914),
        (14, 915),
        (15, 916),
        (23, 917),
        (19, 918),
        (20, 919),
        (18, 920),
        (17, 921),
        (21, 922),
        (22, 923),
        (29, 924),
        (24, 925),
        (25, 926),
        (28, 929),
        (10, 931),
        (12, 932),
    ];
    // The field has 20 bits.
    NUMBERS.iter().find(|(linux, _)| *linux == signal).map_or(0xf_ffff, |(_, number)| *number)
}

/// What the file says. Times are seconds since the epoch, `ru_maxrss` is in KiB.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    pub wait_status: u32,
    /// 0 to 255; 128 and the signal where the job was ended by one.
    pub exit_status: u32,
    /// System signal number, 0 for none. Anything else makes execd report 100.
    pub signal: u32,
    pub start_time: u64,
    pub end_time: u64,
    pub ru_wallclock: u64,
    /// Seconds.
    pub ru_utime: f64,
    pub ru_stime: f64,
    pub ru_maxrss: u64,
    pub ru_minflt: u64,
    pub ru_majflt: u64,
    pub ru_inblock: u64,
    pub ru_oublock: u64,
    pub ru_nvcsw: u64,
    pub ru_nivcsw: u64,
}

impl Usage {
    /// The text of the file, keys in the order of 8.1.9; those that Linux never fills are 0.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "wait_status={}\nexit_status={}\nsignal={}\nstart_time={}\nend_time={}\nru_wallclock={}\n\
             ru_utime={:.6}\nru_stime={:.6}\nru_maxrss={}\nru_ixrss=0\nru_idrss=0\nru_isrss=0\nru_minflt={}\n\
             ru_majflt={}\nru_nswap=0\nru_inblock={}\nru_oublock={}\nru_msgsnd=0\nru_msgrcv=0\nru_nsignals=0\n\
             ru_nvcsw={}\nru_nivcsw={}\n",
            self.wait_status,
            self.exit_status,
            self.signal,
            self.start_time,
            self.end_time,
            self.ru_wallclock,
            self.ru_utime,
            self.ru_stime,
            self.ru_maxrss,
            self.ru_minflt,
            self.ru_majflt,
            self.ru_inblock,
            self.ru_oublock,
            self.ru_nvcsw,
            self.ru_nivcsw,
        )
    }

    /// Reads a file as execd does: keys in any order, a line without `=` ends the reading, values are doubles,
    /// a missing `exit_status` is 1 and anything else missing is 0.
    #[must_use]
    // A double that does not fit is cut off at the ends of the range, which is what `as` does.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn parse(text: &str) -> Self {
        let mut values = HashMap::new();
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { break };
            values.insert(key, value.trim().parse::<f64>().unwrap_or(0.0));
        }
        let get = |key: &str| values.get(key).copied().unwrap_or(0.0);
        Self {
            wait_status: get("wait_status") as u32,
            exit_status: values.get("exit_status").copied().unwrap_or(1.0) as u32,
            signal: get("signal") as u32,
            start_time: get("start_time") as u64,
            end_time: get("end_time") as u64,
            ru_wallclock: get("ru_wallclock") as u64,
            ru_utime: get("ru_utime"),
            ru_stime: get("ru_stime"),
            ru_maxrss: get("ru_maxrss") as u64,
            ru_minflt: get("ru_minflt") as u64,
            ru_majflt: get("ru_majflt") as u64,
            ru_inblock: get("ru_inblock") as u64,
            ru_oublock: get("ru_oublock") as u64,
            ru_nvcsw: get("ru_nvcsw") as u64,
            ru_nivcsw: get("ru_nivcsw") as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_status_is_grid_engines() {
        // observed on 8.1.9
        for (end, expected) in [
            (End::Exited(0), 1),
            (End::Exited(3), 49),
            (End::Exited(99), 1585),
            (End::Signalled { signal: 9, core: false }, 3_727_362),
            (End::Signalled { signal: 11, core: true }, 3_735_558),
            (End::Signalled { signal: 15, core: false }, 3_751_938),
            (End::Signalled { signal: 10, core: false }, 3_813_378),
        ] {
            assert_eq!(end.wait_status(), expected, "{end:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let usage = Usage { exit_status: 3, ru_utime: 1.25, ru_maxrss: 1 << 40, ..Usage::default() };
        assert_eq!(Usage::parse(&usage.text()), usage);
    }

    #[test]
    fn reading_is_as_lenient_as_execds() {
        assert_eq!(Usage::parse("").exit_status, 1);
        assert_eq!(Usage::parse("signal=9\nno assignment\nexit_status=5\n").exit_status, 1);
        assert_eq!(Usage::parse("exit_status=300\n").exit_status, 300);
        assert_eq!(Usage::parse("ru_maxrss=-5\n").ru_maxrss, 0);
    }
}
