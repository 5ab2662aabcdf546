//! The queue files in `examples/` read without a word and have nothing for the linter to say.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::fs;

use oxherd_conf::lint::{LintContext, lint_queue};
use oxherd_conf::queue::{ClusterQueue, print};

#[test]
fn example_queues_are_clean() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if !path.to_string_lossy().ends_with(".q.conf") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let (queue, diagnostics) = ClusterQueue::read(&path.to_string_lossy(), &text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let queue = queue.unwrap();
        assert_eq!(print(&queue), text);
        let found = lint_queue(&queue, &LintContext::default());
        assert!(found.is_empty(), "{found:?}");
    }
}
