//! The two programs a behaviour test runs against.

use std::path::{Path, PathBuf};

/// The stock shepherd of the Debian package, not its wrapper script.
pub const THEIRS: &str = "/usr/lib/gridengine/sge_shepherd";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shepherd {
    Theirs,
    Ours,
}

impl Shepherd {
    /// The executable; panics with a clear text if ours was not built.
    pub fn path(self) -> PathBuf {
        match self {
            Self::Theirs => PathBuf::from(THEIRS),
            Self::Ours => ours("oxherd-shepherd"),
        }
    }

    /// False where `OXHERD_UNDER_TEST` asks for the other program only.
    pub fn selected(self) -> bool {
        match std::env::var("OXHERD_UNDER_TEST").as_deref() {
            Ok("theirs") => self == Self::Theirs,
            Ok("ours") => self == Self::Ours,
            Ok("") | Err(_) => true,
            Ok(other) => panic!("OXHERD_UNDER_TEST is `theirs` or `ours`, not `{other}`"),
        }
    }
}

/// One of our executables: from `OXHERD_BIN_DIR`, else from the workspace's debug build.
pub fn ours(name: &str) -> PathBuf {
    let dir = std::env::var_os("OXHERD_BIN_DIR").map(PathBuf::from).unwrap_or_else(|| {
        let workspace =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in a workspace");
        workspace.join("target/debug")
    });
    let path = dir.join(name);
    assert!(
        path.exists(),
        "{} does not exist: build it first (`cargo build -p {name}`) or set OXHERD_BIN_DIR",
        path.display()
    );
    path
}
