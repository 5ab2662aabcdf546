//! The job's TMPDIR, where the shepherd is told to make and remove it (`ox_tmpdir`); a stock execd does it itself.
//!
//! queue_conf(5): a uniquely named directory below the queue's `tmpdir`, removed with its content at the job's end.
//! Stock makes it by path, takes an existing one over and removes it by path as root. Here a taken name gets another
//! one beside it, and the tree is removed through descriptors under the owner's identity, as root only what is left.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use oxherd_handoff::{ExitState, Key};
use oxherd_sys::{credentials, directory, rmtree};

use crate::privilege::Privilege;
use crate::spec::{Refusal, Spec};
use crate::step::credentials::Identity;

/// Names that are tried beside a taken one.
const TRIES: u32 = 16;

fn split(path: &OsStr) -> Option<(CString, CString)> {
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| CString::new(name.as_bytes()).ok())?;
    let parent = path.parent().and_then(|parent| CString::new(parent.as_os_str().as_bytes()).ok())?;
    path.is_absolute().then_some((parent, name))
}

/// Makes the directory of `config`'s `tmpdir` and writes its real name into the job's environment.
///
/// # Errors
/// [`Refusal`] with code 11, naming the path: the queue's `tmpdir` is at fault.
pub fn make(spec: &mut Spec, privilege: Privilege) -> Result<(), Refusal> {
    let wanted = spec.config.required(Key::Tmpdir)?.to_owned();
    let refuse = |error: io::Error| Refusal {
        state: ExitState::BeforeJob,
        text: format!("can't make tmpdir {}: {error}", Path::new(&wanted).display()),
    };
    let owner = Identity::of_owner(spec).map_err(|text| Refusal { state: ExitState::BeforeJob, text })?;
    let (parent, name) = split(&wanted).ok_or_else(|| refuse(io::ErrorKind::InvalidInput.into()))?;
    let made = privilege.as_root(|| -> io::Result<CString> {
        let parent = directory::open(&parent)?;
        let mut candidate = name.clone();
        for _ in 0..TRIES {
            match directory::make(parent.as_fd(), &candidate, 0o755) {
                Ok(()) => {
                    let given = (|| {
                        let open = directory::open_below(parent.as_fd(), &candidate)?;
                        let facts = directory::facts(open.as_fd())?;
                        // In a directory that others may write to, another could stand in its place by now.
                        if facts.uid != credentials::user_ids().effective {
                            return Err(io::Error::other("was exchanged while it was made"));
                        }
                        if privilege.root {
                            directory::give(open.as_fd(), owner.uid, owner.gid)
                        } else {
                            Ok(())
                        }
                    })();
                    if given.is_err() {
                        // Goes only if it is empty: nothing of anybody's is lost.
                        let _ = directory::remove_directory(parent.as_fd(), &candidate);
                    }
                    return given.map(|()| candidate);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let mut other = name.clone().into_bytes();
                    other.push(b'.');
                    other.extend_from_slice(random_suffix()?.as_bytes());
                    candidate = CString::new(other).unwrap_or_default();
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    });
    let made = made.map_err(refuse)?;
    if made != name {
        let mut path = Path::new(OsStr::from_bytes(parent.as_bytes())).to_path_buf();
        path.push(OsStr::from_bytes(made.as_bytes()));
        spec.remarks.push(format!(
            "tmpdir {} is taken: using {}",
            Path::new(&wanted).display(),
            path.display()
        ));
        spec.set_tmpdir(wanted.as_bytes(), path.into_os_string());
    } else {
        spec.tmpdir = Some(wanted);
    }
    Ok(())
}

/// Eight letters and digits that nobody can foresee.
fn random_suffix() -> io::Result<OsString> {
    use std::io::Read;
    let mut bytes = [0_u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    const LETTERS: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";
    Ok(OsString::from_vec(bytes.iter().map(|byte| LETTERS[usize::from(byte % 32)]).collect()))
}

/// Removes the directory; to be called in a child of its own. Returns the sentence for the trace if something stays.
///
/// # Errors
/// What is left and why.
pub fn remove(path: &OsStr, owner: &Identity, privilege: Privilege) -> Result<(), String> {
    let Some((parent, name)) = split(path) else { return Ok(()) };
    let fail = |what: &str| format!("TMPDIR {} is not removed: {what}", Path::new(path).display());
    privilege.raise();
    let parent = directory::open(&parent).map_err(|error| fail(&error.to_string()))?;
    if !privilege.root {
        return rmtree::remove(parent.as_fd(), &name).map_err(|left| fail(&left.to_string()));
    }
    // As the owner everything that is the owner's goes; nothing can be reached that they could not reach themselves.
    let as_owner = credentials::set_groups(&owner.groups)
        .and_then(|()| credentials::set_effective_group(owner.gid))
        .and_then(|()| credentials::set_effective_user(owner.uid));
    if as_owner.is_ok() {
        let _ = rmtree::remove(parent.as_fd(), &name);
    }
    // What is left belongs to others, or its entry in a directory that only root can change.
    let back = credentials::set_effective_user(0).and_then(|()| credentials::set_effective_group(0));
    back.map_err(|error| fail(&error.to_string()))?;
    rmtree::remove(parent.as_fd(), &name).map_err(|left| fail(&left.to_string()))
}
