//! One body, two programs.

use crate::job_dir::JobDir;
use crate::program::Shepherd;
use crate::require::{Need, met, skipped};

/// One run of a test body against one program.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub shepherd: Shepherd,
}

impl Case {
    /// A fresh job directory for the program under test.
    pub fn job(&self) -> JobDir {
        JobDir::new(self.shepherd)
    }

    pub fn ours(&self) -> bool {
        self.shepherd == Shepherd::Ours
    }

    /// What the stock program does, and what ours does instead on purpose (see `docs/deviations.md`).
    pub fn deviates<T>(&self, theirs: T, ours: T) -> T {
        match self.shepherd {
            Shepherd::Theirs => theirs,
            Shepherd::Ours => ours,
        }
    }
}

/// Runs a body against one program, if it was asked for and the host can.
pub fn run(shepherd: Shepherd, body: fn(&Case)) {
    if !shepherd.selected() {
        return skipped("OXHERD_UNDER_TEST asks for the other program");
    }
    if met(Need::Root) && met(Need::Peer) {
        body(&Case { shepherd });
    }
}

/// `both![a, b, …]`: the tests `theirs::a`, `ours::a`, … from the functions `fn a(case: &Case)`. Once per file.
#[macro_export]
macro_rules! both {
    ($($name:ident),+ $(,)?) => {
        mod theirs {
            $(#[test]
            fn $name() {
                $crate::case::run($crate::Shepherd::Theirs, super::$name);
            })+
        }
        mod ours {
            $(#[test]
            fn $name() {
                $crate::case::run($crate::Shepherd::Ours, super::$name);
            })+
        }
    };
}

/// `ours_only![a, …]`: the tests `ours_alone::a`, … for what the stock program cannot do. Once per file.
#[macro_export]
macro_rules! ours_only {
    ($($name:ident),+ $(,)?) => {
        mod ours_alone {
            $(#[test]
            fn $name() {
                $crate::case::run($crate::Shepherd::Ours, super::$name);
            })+
        }
    };
}
