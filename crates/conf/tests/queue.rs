//! From a queue file to the instance of a host.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_conf::attribute::ATTRIBUTES;
use oxherd_conf::queue::{ClusterQueue, Reading, print};
use oxherd_model::host_group::{HostGroups, HostId};
use oxherd_model::limit::{Bytes, Limit, Seconds};
use oxherd_model::method::Method;
use oxherd_model::queue_instance::Origin;
use oxherd_model::specifier::Writer;

/// The template with some lines replaced.
fn file(changes: &[(&str, &str)]) -> String {
    ATTRIBUTES
        .iter()
        .map(|a| {
            let change = changes.iter().find(|(name, _)| *name == a.name);
            format!("{} {}\n", a.name, change.map_or(a.default, |(_, value)| value))
        })
        .collect()
}

fn queue(changes: &[(&str, &str)]) -> ClusterQueue {
    let (queue, diagnostics) = ClusterQueue::read("test", &file(changes));
    queue.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn groups() -> HostGroups {
    let host = |name: &str| HostId::Host(name.to_owned());
    let mut groups = HostGroups::new();
    groups.insert("@a", vec![host("n1"), host("n2")]);
    groups.insert("@b", vec![host("n2"), host("N3")]);
    groups.insert("@allhosts", vec![HostId::Group("@a".to_owned()), HostId::Group("@b".to_owned())]);
    groups
}

#[test]
fn host_beats_group_beats_default() {
    let queue = queue(&[("slots", "1,[@a=2],[n1=3],[elsewhere=9]")]);
    let slots = |host: &str| {
        let instance = queue.resolve(host, &groups()).unwrap();
        (instance.slots.value.0, instance.slots.origin)
    };
    assert_eq!(slots("N1"), (3, Origin::Host("n1".to_owned())));
    assert_eq!(slots("n2"), (2, Origin::HostGroup("@a".to_owned())));
    assert_eq!(slots("n3"), (1, Origin::QueueDefault));
}

#[test]
fn two_groups_with_different_values_are_ambiguous() {
    let changes = [
        ("slots", "1,[@a=2],[@b=4]"),
        ("h_vmem", "1G,[@a=2G],[@b=2048M]"),
        ("h_rt", "1,[@a=2],[@b=3],[n2=4]"),
    ];
    let queue = queue(&changes);
    let error = queue.resolve("n2", &groups()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attribute `slots` of queue instance `template@n2` is ambiguous: `@a` sets `2`, `@b` sets `4`"
    );
    assert!(queue.resolve("n1", &groups()).is_ok());
    // Equal values, and hosts with a value of their own, are not ambiguous.
    let changes: Vec<_> = changes.into_iter().filter(|(name, _)| *name != "slots").collect();
    let instance = self::queue(&changes).resolve("n2", &groups()).unwrap();
    assert_eq!(instance.h_vmem.value, Limit::Value(Bytes(2 << 30)));
    assert_eq!(instance.h_rt.value, Limit::Value(Seconds(4)));
}

#[test]
fn a_host_has_an_instance_if_the_hostlist_names_it_or_a_group_with_it() {
    let on = |hostlist: &str, host: &str| queue(&[("hostlist", hostlist)]).has_instance_on(host, &groups());
    assert!(on("@allhosts", "n3") && on("N1,x", "n1") && on("x @b", "n2"));
    assert!(!on("NONE", "n1") && !on("@a", "n3") && !on("@unknown", "n1"));
    let mut aliases = groups();
    aliases.alias("n1.example.org", "n1");
    assert!(queue(&[("hostlist", "@a")]).has_instance_on("n1.example.org", &aliases));
}

#[test]
fn values_keep_their_text() {
    let instance =
        queue(&[("terminate_method", "SIGTERM"), ("h_vmem", "1.5G")]).resolve("n1", &groups()).unwrap();
    assert_eq!(
        (instance.notify.value, instance.notify.text.as_str()),
        (Limit::Value(Seconds(60)), "00:00:60")
    );
    assert_eq!(instance.terminate_method.value, Method::Signal(15));
    assert_eq!(instance.h_vmem.text, "1.5G");
    assert_eq!(instance.name(), "template@n1");
}

#[test]
fn commands_broken_over_lines_have_single_blanks() {
    let (queue, _) = ClusterQueue::read("site", include_str!("golden/site.q"));
    let mut groups = HostGroups::new();
    groups.insert("@quad", vec![HostId::Host("q1".to_owned())]);
    let instance = queue.unwrap().resolve("q1", &groups).unwrap();
    let prolog = instance.prolog.value.unwrap();
    assert_eq!(prolog.command, "/opt/site/prolog quad $queue with quite a few words");
    assert_eq!(instance.load_thresholds.value.len(), 4);
    assert_eq!(instance.load_thresholds.value[2].complex, "swap_used");
}

#[test]
fn forgotten_brackets_are_an_error_by_hand_and_a_warning_from_a_qmaster() {
    let text = file(&[("h_vmem", "1G,eh1=2G")]);
    let (by_hand, diagnostics) = ClusterQueue::read("q", &text);
    assert!(by_hand.is_none());
    assert_eq!(diagnostics[0].help.as_deref(), Some("write `1G,[eh1=2G]`"));
    let reading = Reading { writer: Writer::Request, fill_missing: false };
    let (dumped, diagnostics) = ClusterQueue::read_as("q", &text, reading);
    assert_eq!(dumped.unwrap().resolve("eh1", &groups()).unwrap().h_vmem.value, Limit::Value(Bytes(1 << 30)));
    assert!(diagnostics.iter().all(|d| !d.is_error()) && diagnostics.len() == 1);
}

#[test]
fn what_stock_accepted_reads_with_stock_meaning_from_a_qmaster() {
    let reading = Reading { writer: Writer::Request, fill_missing: true };
    let (queue, diagnostics) =
        ClusterQueue::read_as("q", "qname q\nh_rt -1\npriority 1.5x\nh_vmem 010K\n", reading);
    let instance = queue.unwrap().resolve("n1", &groups()).unwrap();
    assert_eq!(instance.h_rt.value, Limit::Value(Seconds((1 << 32) - 1)));
    assert_eq!((instance.priority.value, instance.h_vmem.value), (1, Limit::Value(Bytes(8192))));
    assert_eq!(diagnostics.len(), 3);
}

#[test]
fn detached_settings_are_kept_and_listed() {
    let changes = [("slots", "1,[gone=2],[@lost=3]"), ("h_rt", "1,[n1=2],[gone=3]")];
    let queue = queue(&changes);
    let found: Vec<_> = queue.detached(&["n1"], &groups()).iter().map(|id| id.as_str().to_owned()).collect();
    assert_eq!(found, ["gone", "@lost"]);
    assert_eq!(print(&queue), file(&changes));
}

#[test]
fn comments_and_own_layout_survive_an_edit() {
    let text = format!("# mine\n\n{}# end", file(&[("slots", "4,[n1=2]")]));
    let (queue, _) = ClusterQueue::read("q", &text);
    let mut queue = queue.unwrap();
    assert_eq!(print(&queue), text);
    queue.set("slots", "8").unwrap();
    assert_eq!(print(&queue), text.replace("slots 4,[n1=2]", "slots                 8"));
}
