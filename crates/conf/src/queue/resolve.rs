//! The instance of a cluster queue on one host.

use oxherd_model::host_group::{HostGroups, HostId};
use oxherd_model::queue_instance::{ConfigAmbiguous, Origin, QueueInstance, Sourced};

use super::ClusterQueue;
use crate::value::{FromValue, Value};

impl ClusterQueue {
    /// Whether the hostlist names `host` or a group that contains it.
    pub fn has_instance_on(&self, host: &str, groups: &HostGroups) -> bool {
        match self.get("hostlist").map(|setting| &setting.value.default.value) {
            Some(Value::Hosts(hosts)) => hosts.iter().any(|id| groups.matches(id, host)),
            _ => false,
        }
    }

    /// The configuration of `host`: its own override, else its group's, else the default, for each attribute.
    /// Whether the queue has an instance there is another question: [`ClusterQueue::has_instance_on`].
    ///
    /// # Errors
    /// Two groups that contain the host set different values (state `c`).
    pub fn resolve(&self, host: &str, groups: &HostGroups) -> Result<QueueInstance, ConfigAmbiguous> {
        let resolver = Resolver { queue: self, host, groups };
        macro_rules! instance {
            ($($name:ident)*) => {
                QueueInstance { host: host.to_owned(), $($name: resolver.attribute(stringify!($name))?,)* }
            };
        }
        Ok(instance! {
            qname hostlist seq_no load_thresholds suspend_thresholds nsuspend suspend_interval priority
            min_cpu_interval processors qtype ckpt_list pe_list rerun slots tmpdir shell prolog epilog
            shell_start_mode starter_method suspend_method resume_method terminate_method notify owner_list
            user_lists xuser_lists subordinate_list complex_values projects xprojects calendar initial_state
            s_rt h_rt s_cpu h_cpu s_fsize h_fsize s_data h_data s_stack h_stack s_core h_core s_rss h_rss
            s_vmem h_vmem
        })
    }

    /// Hosts and groups with overrides that no known host or group answers to ("detached", `qconf -sds`).
    /// They stay in the queue and print back.
    pub fn detached(&self, hosts: &[&str], groups: &HostGroups) -> Vec<&HostId> {
        let mut found: Vec<&HostId> = Vec::new();
        for (id, _) in self.settings.iter().flat_map(|setting| &setting.value.overrides) {
            let is_known = match id {
                HostId::Host(name) => hosts.iter().any(|host| groups.same_host(host, name)),
                HostId::Group(name) => groups.is_known(name),
            };
            if !is_known && !found.iter().any(|other| other.same(id)) {
                found.push(id);
            }
        }
        found
    }
}

struct Resolver<'a> {
    queue: &'a ClusterQueue,
    host: &'a str,
    groups: &'a HostGroups,
}

impl Resolver<'_> {
    fn attribute<T: FromValue>(&self, name: &'static str) -> Result<Sourced<T>, ConfigAmbiguous> {
        let Some(setting) = self.queue.get(name) else {
            debug_assert!(false, "{name} is not in the table");
            return Ok(Sourced { value: T::harmless(), text: String::new(), origin: Origin::QueueDefault });
        };
        let (written, origin) =
            setting.value.for_host(self.host, self.groups).map_err(|values| ConfigAmbiguous {
                queue: self.queue.qname().to_owned(),
                host: self.host.to_owned(),
                attribute: name,
                values,
            })?;
        let value = T::from_value(&written.value);
        debug_assert!(value.is_some(), "{name} has another kind in the table");
        Ok(Sourced {
            value: value.unwrap_or_else(T::harmless),
            text: written.text.clone(),
            origin: if setting.is_set { Origin::Set } else { origin },
        })
    }
}
