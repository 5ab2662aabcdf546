//! The file through which a job tells the bench what it did when: numbered slots of eight bytes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// When the job's process was made; for a job that makes files: when it had made them.
pub(crate) const START: u64 = 0;
/// When it was last seen by itself.
pub(crate) const BEAT: u64 = 1;
/// How often a chain has forked.
pub(crate) const HOPS: u64 = 2;
/// Written by the bench: a chain shall end.
pub(crate) const STOP: u64 = 3;
/// From here on what single processes of a job say: two slots each (pid, beat), or four (MiB, start, beat).
pub(crate) const MEMBERS: u64 = 8;
/// From here on the CPU time of each process that burnt some.
pub(crate) const TOTAL: u64 = 128;
/// All slots.
const SLOTS: usize = 256;

pub(crate) struct Stamps(File);

impl Stamps {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).open(path).map(Self)
    }

    pub(crate) fn set(&self, slot: u64, value: i64) -> io::Result<()> {
        self.0.write_all_at(&value.to_ne_bytes(), slot * 8)
    }

    /// 0 where nothing was written yet.
    pub(crate) fn get(&self, slot: u64) -> io::Result<i64> {
        let mut bytes = [0; 8];
        match self.0.read_exact_at(&mut bytes, slot * 8) {
            Ok(()) => Ok(i64::from_ne_bytes(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn all(&self) -> io::Result<Vec<i64>> {
        let mut bytes = vec![0; SLOTS * 8];
        let mut filled = 0;
        loop {
            match self.0.read_at(&mut bytes[filled..], filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        let (words, _) = bytes.as_chunks::<8>();
        Ok(words.iter().map(|word| i64::from_ne_bytes(*word)).collect())
    }
}
