//! Waiting for a state with a time limit, the only way tests wait.

use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Measures how long something took.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods)] // a stopwatch is what reads the clock; tests of real processes have no other
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Polls until `state` gives a value, or `limit` has passed.
pub fn poll<T>(limit: Duration, mut state: impl FnMut() -> Option<T>) -> Option<T> {
    let watch = Stopwatch::start();
    loop {
        if let Some(value) = state() {
            return Some(value);
        }
        if watch.elapsed() > limit {
            return None;
        }
        nap();
    }
}

/// Waits until `state` gives a value; panics with `what` when it did not within `limit`.
#[track_caller]
pub fn wait_for<T>(what: &str, limit: Duration, state: impl FnMut() -> Option<T>) -> T {
    match poll(limit, state) {
        Some(value) => value,
        None => panic!("waited {limit:?} in vain for: {what}"),
    }
}

/// Waits until `state` is true; panics with `what` when it did not become so within `limit`.
#[track_caller]
pub fn wait_until(what: &str, limit: Duration, mut state: impl FnMut() -> bool) {
    wait_for(what, limit, || state().then_some(()));
}

/// Asserts that `state` stays true for the whole of `span`.
#[track_caller]
pub fn stays(what: &str, span: Duration, mut state: impl FnMut() -> bool) {
    if poll(span, || (!state()).then_some(())).is_some() {
        panic!("did not stay so for {span:?}: {what}");
    }
}

#[allow(clippy::disallowed_methods)] // the poll interval: what is waited for is a state, see `poll`
fn nap() {
    std::thread::sleep(POLL);
}
