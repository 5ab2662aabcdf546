//! `priority`: the nice value of jobs, procedures and methods, -20 to 20.

use oxherd_handoff::Key;
use oxherd_sys::limits;

use super::Failure;
use crate::spec::Spec;

/// Sets the nice value. Without root a lower one than the present cannot be set: the job runs all the same, as a
/// failing setpriority is ignored by 8.1.9.
///
/// # Errors
/// A value that is no number.
pub fn apply(spec: &Spec) -> Result<(), Failure> {
    let value = spec.config.number(Key::Priority, 0).map_err(|error| Failure::phase(error.to_string()))?;
    // 0 means that no nice value is set explicitly.
    if value != 0 {
        let _ = limits::set_nice(i32::try_from(value.clamp(-20, 20)).unwrap_or(0));
    }
    Ok(())
}
