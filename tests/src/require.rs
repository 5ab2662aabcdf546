//! What a test needs from the host. A skip is not a pass: with `OXHERD_REQUIRE=root,peer` it fails.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The test process runs as root.
    Root,
    /// The packages of Grid Engine 8.1.9 are installed.
    Peer,
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Peer => "peer",
        }
    }

    /// Why the need is not met, if it is not.
    fn missing(self) -> Option<String> {
        match self {
            Self::Root => (crate::process::own_euid() != 0).then(|| "needs root".to_owned()),
            Self::Peer => {
                let wanted = [
                    crate::program::THEIRS,
                    "/usr/lib/gridengine/sge_execd",
                    "/usr/lib/gridengine/sge_qmaster",
                ];
                let absent = wanted.into_iter().find(|path| !Path::new(path).exists())?;
                Some(format!("needs the Grid Engine packages: {absent} is missing"))
            }
        }
    }
}

/// True if the test can run; otherwise says why not, or panics where a skip is not allowed.
pub fn met(need: Need) -> bool {
    let Some(why) = need.missing() else { return true };
    let strict = std::env::var("OXHERD_REQUIRE").unwrap_or_default();
    assert!(!strict.split(',').any(|word| word.trim() == need.name()), "required but not possible: {why}");
    skipped(&why);
    false
}

/// Says that a test did not run.
#[allow(clippy::print_stdout)] // the one line a skipped test leaves
pub fn skipped(why: &str) {
    println!("SKIPPED: {why}");
}

/// `require!(root, peer)`: returns from the test, saying why, where the host lacks something.
#[macro_export]
macro_rules! require {
    (@need root) => { $crate::require::Need::Root };
    (@need peer) => { $crate::require::Need::Peer };
    ($($need:ident),+ $(,)?) => {
        $(if !$crate::require::met($crate::require!(@need $need)) { return; })+
    };
}
