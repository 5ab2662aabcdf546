//! Removing a directory tree that a hostile program made, and may still be changing.
//!
//! Everything goes through descriptors: a directory is entered only from its open parent, never across a symbolic
//! link or a mount ([`directory::open_below`]), and names are unlinked relative to the open directory. Whatever is
//! exchanged meanwhile, nothing outside the tree can be reached. The caller chooses the identity: the owner's first.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::{credentials, directory};

/// Directories are at most this deep in open descriptors; what lies deeper is moved up to the top first.
const DEPTH: usize = 64;
/// How often a directory that is filled again while it is emptied is tried.
const PASSES: usize = 16;
/// The same for trees that are deep, or made deeper meanwhile: 64 levels are moved up in each round.
const ROUNDS: usize = 16_384;

/// What is left and why.
#[derive(Debug)]
pub struct Leftover {
    /// Names that could not be removed.
    pub count: u64,
    /// The first of them and what the system said.
    pub first: String,
    pub error: io::Error,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name is the job owner's: it must not look like something else in a log.
        write!(f, "{:?}: {}", self.first, self.error)?;
        if self.count > 1 { write!(f, " (and {} more)", self.count - 1) } else { Ok(()) }
    }
}

struct Walk<'a> {
    top: BorrowedFd<'a>,
    buffer: Vec<u8>,
    moved: u64,
    leftover: Option<Leftover>,
}

/// Removes the tree `name` below an open directory. A name that does not exist is success.
///
/// # Errors
/// [`Leftover`]: everything that could be removed was, these names could not.
pub fn remove(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Leftover> {
    let fail = |error| Leftover { count: 1, first: name.to_string_lossy().into_owned(), error };
    let open = match open_directory(parent, name) {
        Ok(open) => open,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
        // Something else took the directory's place: the name goes, what it points to stays.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) => {
            return directory::remove_file(parent, name).map_err(fail);
        }
        Err(error) => return Err(fail(error)),
    };
    let mut idle = 0;
    for round in 1.. {
        let mut walk = Walk { top: open.as_fd(), buffer: vec![0; 32 * 1024], moved: 0, leftover: None };
        if let Err(error) = directory::rewind(open.as_fd()) {
            return Err(fail(error));
        }
        walk.empty(open.as_fd(), 0);
        let left = walk.leftover;
        // Lifting is progress: a tree of any depth needs its depth divided by [`DEPTH`] rounds.
        idle = if walk.moved > 0 { 0 } else { idle + 1 };
        match directory::remove_directory(parent, name) {
            Ok(()) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
            // Filled again by somebody: try again, unless something in it cannot be removed at all.
            Err(error)
                if error.raw_os_error() == Some(libc::ENOTEMPTY)
                    && left.is_none()
                    && idle < PASSES
                    && round < ROUNDS => {}
            Err(error) => return Err(left.unwrap_or_else(|| fail(error))),
        }
    }
    Ok(())
}

fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    match directory::open_below(parent, name) {
        // A directory without rights for its owner: as the owner they can be given back. Never as root, which could
        // be led elsewhere by a link.
        Err(error)
            if error.raw_os_error() == Some(libc::EACCES) && credentials::user_ids().effective != 0 =>
        {
            directory::open_up(parent, name)?;
            directory::open_below(parent, name)
        }
        other => other,
    }
}

impl Walk<'_> {
    fn note(&mut self, name: &CStr, error: io::Error) {
        match &mut self.leftover {
            Some(leftover) => leftover.count += 1,
            None => {
                let first = name.to_string_lossy().into_owned();
                self.leftover = Some(Leftover { count: 1, first, error });
            }
        }
    }

    fn empty(&mut self, open: BorrowedFd<'_>, depth: usize) {
        loop {
            let entries = match directory::list(open, &mut self.buffer) {
                Ok(entries) => entries,
                Err(error) => return self.note(c".", error),
            };
            if entries.is_empty() {
                return;
            }
            for (name, is_directory) in entries {
                self.entry(open, &name, is_directory, depth);
            }
        }
    }

    fn entry(&mut self, open: BorrowedFd<'_>, name: &CStr, is_directory: bool, depth: usize) {
        if !is_directory {
            match directory::remove_file(open, name) {
                Ok(()) => return,
                Err(error) => match error.raw_os_error() {
                    Some(libc::ENOENT) => return,
                    // Not every file system tells the type in the listing.
                    Some(libc::EISDIR | libc::EPERM) => {}
                    // A directory that its owner may not write.
                    Some(libc::EACCES) if depth > 0 || open_self(open).is_ok() => {
                        if directory::remove_file(open, name).is_ok() {
                            return;
                        }
                    }
                    _ => return self.note(name, error),
                },
            }
        }
        if depth >= DEPTH {
            return self.lift(open, name);
        }
        match open_directory(open, name) {
            Ok(inner) => {
                self.empty(inner.as_fd(), depth + 1);
                drop(inner);
                self.remove_empty(open, name);
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOENT) => {}
                Some(libc::ENOTDIR | libc::ELOOP) => match directory::remove_file(open, name) {
                    Err(error) if error.raw_os_error() != Some(libc::ENOENT) => self.note(name, error),
                    _ => {}
                },
                // An empty directory of somebody else can go without being opened.
                _ => match directory::remove_directory(open, name) {
                    Ok(()) => {}
                    Err(_) => self.note(name, error),
                },
            },
        }
    }

    fn remove_empty(&mut self, open: BorrowedFd<'_>, name: &CStr) {
        let Err(error) = directory::remove_directory(open, name) else { return };
        match error.raw_os_error() {
            // Not empty: either something in it was noted, or somebody filled it and the next pass empties it.
            Some(libc::ENOENT | libc::ENOTEMPTY) => {}
            Some(libc::EACCES) if open_self(open).is_ok() => {
                if let Err(error) = directory::remove_directory(open, name) {
                    self.note(name, error);
                }
            }
            _ => self.note(name, error),
        }
    }

    /// Moves a deep directory to the top of the tree, where the listing that goes on there, or the next pass, finds it.
    fn lift(&mut self, open: BorrowedFd<'_>, name: &CStr) {
        loop {
            self.moved += 1;
            let new = CString::new(format!("oxherd-lifted-{}", self.moved)).unwrap_or_default();
            match directory::rename(open, name, self.top, &new) {
                Ok(()) => return,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EEXIST | libc::ENOTEMPTY | libc::ENOTDIR) if self.moved < 1 << 32 => {}
                    Some(libc::ENOENT) => return,
                    _ => return self.note(name, error),
                },
            }
        }
    }
}

/// Gives the owner of an open directory its rights back.
fn open_self(open: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    crate::check(unsafe { libc::fchmod(std::os::fd::AsRawFd::as_raw_fd(&open), 0o700) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    /// A directory with a tree `t` to be removed and a file `outside` that must survive.
    fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (tree, outside) = (dir.path().join("t"), dir.path().join("outside"));
        fs::create_dir(&tree).expect("made");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("file"), "x").expect("written");
        (dir, tree, outside)
    }

    fn remove_in(dir: &Path) -> Result<(), Leftover> {
        let path = CString::new(dir.as_os_str().as_bytes()).expect("no NUL");
        let parent = directory::open(&path).expect("opened");
        remove(parent.as_fd(), c"t")
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let (dir, tree, outside) = scene();
        symlink(&outside, tree.join("link")).expect("linked");
        symlink("missing", tree.join("dangling")).expect("linked");
        fs::create_dir_all(tree.join("a/b")).expect("made");
        fs::write(tree.join("a/b/f"), "x").expect("written");
        remove_in(dir.path()).expect("removed");
        assert!(!tree.exists() && outside.join("file").exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_tree_goes_and_its_target_stays() {
        let (dir, tree, outside) = scene();
        fs::remove_dir(&tree).expect("removed");
        symlink(&outside, &tree).expect("linked");
        remove_in(dir.path()).expect("removed");
        assert!(fs::symlink_metadata(&tree).is_err() && outside.join("file").exists());
    }

    #[test]
    fn a_missing_tree_is_removed_already() {
        let (dir, tree, _) = scene();
        fs::remove_dir(tree).expect("removed");
        remove_in(dir.path()).expect("nothing to do");
    }

    #[test]
    fn a_tree_deeper_than_any_path_is_removed() {
        let (dir, tree, _) = scene();
        let mut open =
            directory::open(&CString::new(tree.as_os_str().as_bytes()).expect("no NUL")).expect("opened");
        for _ in 0..5000 {
            directory::make(open.as_fd(), c"a-name-of-some-length", 0o755).expect("made");
            open = directory::open_below(open.as_fd(), c"a-name-of-some-length").expect("opened");
        }
        remove_in(dir.path()).expect("removed");
        assert!(!tree.exists());
    }

    #[test]
    fn directories_without_rights_are_no_obstacle_to_their_owner() {
        let (dir, tree, _) = scene();
        fs::create_dir_all(tree.join("closed/inner")).expect("made");
        fs::write(tree.join("closed/inner/f"), "x").expect("written");
        for name in ["closed/inner", "closed", ""] {
            fs::set_permissions(tree.join(name), fs::Permissions::from_mode(0o000)).expect("changed");
        }
        remove_in(dir.path()).expect("removed");
        assert!(!tree.exists());
    }
}
