//! Waiting for other processes: for a state, with a time limit, never for a duration.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Asks until the answer is yes.
#[allow(clippy::disallowed_methods, reason = "a bench waits for other processes; the clock is the point")]
pub(super) fn wait_until(
    what: &str,
    limit: Duration,
    mut reached: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !reached()? {
        if start.elapsed() > limit {
            bail!("{what}: not so after {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
