//! Real output of `qconf -s*` of 8.1.9 reads and prints back byte for byte.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_conf::global::GlobalConf;
use oxherd_conf::object::{AllocationRule, ExecHost, HostGroup, ParallelEnvironment};
use oxherd_conf::queue::{ClusterQueue, Reading, print};
use oxherd_model::host_group::HostId;
use oxherd_model::specifier::Writer;

const ALL_Q: &str = include_str!("golden/all.q");
const TEMPLATE: &str = include_str!("golden/template.q");

#[test]
fn queues_print_back_byte_for_byte() {
    for text in [ALL_Q, TEMPLATE, include_str!("golden/site.q"), include_str!("golden/subordinate.q")] {
        for writer in [Writer::Admin, Writer::Request] {
            let reading = Reading { writer, fill_missing: false };
            let (queue, diagnostics) = ClusterQueue::read_as("golden", text, reading);
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            assert_eq!(print(&queue.unwrap()), text);
        }
    }
}

#[test]
fn the_template_is_the_one_of_qconf() {
    assert_eq!(print(&ClusterQueue::template("template")), TEMPLATE);
    let (read, _) = ClusterQueue::read("template", TEMPLATE);
    assert_eq!(read.unwrap(), ClusterQueue::template("template"));
}

#[test]
fn attributes_stand_in_the_order_of_qconf() {
    let order: Vec<_> = ALL_Q.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let table: Vec<_> = oxherd_conf::attribute::ATTRIBUTES.iter().map(|a| a.name).collect();
    assert_eq!(order, table);
}

#[test]
fn other_objects_read_as_qconf_prints_them() {
    let text = include_str!("golden/host-sa1");
    let (host, diagnostics) = ExecHost::read("host", text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let host = host.unwrap();
    assert_eq!((host.name.as_str(), host.document.print()), ("sa1", text));
    assert!(host.document.get("load_values").unwrap().contains("np_load_long=9.393799"));

    let (pe, diagnostics) = ParallelEnvironment::read("pe", include_str!("golden/pe-smp"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let pe = pe.unwrap();
    assert_eq!((pe.slots.0, pe.allocation_rule, pe.job_is_first_task), (99, AllocationRule::PeSlots, true));

    let (group, diagnostics) = HostGroup::read("group", include_str!("golden/hostgroup-allhosts"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(group.unwrap().members, [HostId::Host("sa1".to_owned())]);

    assert!(ExecHost::read("host", include_str!("golden/host-global")).0.is_some());
}

#[test]
fn the_global_configuration_reads_as_qconf_prints_it() {
    let text = include_str!("golden/conf-global");
    let (conf, diagnostics) = GlobalConf::read("global", text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let conf = conf.unwrap();
    assert_eq!(conf.login_shells, ["bash", "sh", "ksh", "csh", "tcsh"]);
    assert_eq!(conf.gid_range, [(66400, 66450)]);
    assert_eq!((conf.min_uid, conf.shepherd_cmd, conf.reprioritize), (1000, None, false));
    assert_eq!(conf.documents[0].print(), text);
    assert!(conf.documents[0].get("reporting_params").unwrap().ends_with("sharelog=00:00:00"));
}
