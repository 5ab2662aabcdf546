//! Core binding (`qsub -binding`): the cores execd chose become processors of the operating system.
//!
//! `config` carries `explicit:S,C[:S,C…]`, `linear:N:S,C` or `striding:N:STEP:S,C`, each with a topology string behind it
//! and perhaps `env_` in front: then the job is only told (SGE_BINDING). S and C are logical numbers: sockets and the
//! cores of a socket in the order of their first processor, as hwloc counts them. The machine is looked at only when a
//! binding is asked for. A request that cannot be met is traced and the job runs unbound, as in 8.1.9.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A request as it stands in `config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Only SGE_BINDING is set.
    pub environment_only: bool,
    cores: Cores,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cores {
    /// Socket and core of each.
    Explicit(Vec<(usize, usize)>),
    /// Every `step`th core from socket and core on.
    From { amount: usize, step: usize, socket: usize, core: usize },
}

/// Sockets, their cores, the processors of each core.
pub type Topology = Vec<Vec<Vec<u32>>>;

impl Request {
    /// Reads the value; `None` where no binding is asked for, or it concerns only `pe_hostfile`.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if matches!(text, "" | "NULL") || text.eq_ignore_ascii_case("none") || text.starts_with("pe_") {
            return Ok(None);
        }
        let (environment_only, rest) = text.strip_prefix("env_").map_or((false, text), |rest| (true, rest));
        let fail = || format!("binding `{text}` is not understood");
        let mut fields = rest.split(':');
        let kind = fields.next().unwrap_or_default();
        let number =
            |fields: &mut std::str::Split<'_, char>| -> Option<usize> { fields.next()?.parse().ok() };
        let pair = |field: &str| -> Option<(usize, usize)> {
            let (socket, core) = field.split_once(',')?;
            Some((socket.parse().ok()?, core.parse().ok()?))
        };
        let from = |fields: &mut std::str::Split<'_, char>, amount, step| -> Option<Cores> {
            let (socket, core) = pair(fields.next()?)?;
            Some(Cores::From { amount, step, socket, core })
        };
        let cores = match kind {
            // The topology behind the pairs has no comma.
            "explicit" => {
                let pairs: Vec<_> = fields.map_while(pair).collect();
                if pairs.is_empty() { None } else { Some(Cores::Explicit(pairs)) }
            }
            "linear" => number(&mut fields).and_then(|amount| from(&mut fields, amount, 1)),
            "striding" => {
                let amount = number(&mut fields);
                let step = number(&mut fields).filter(|step| *step > 0);
                amount.zip(step).and_then(|(amount, step)| from(&mut fields, amount, step))
            }
            _ => None,
        };
        Ok(Some(Self { environment_only, cores: cores.ok_or_else(fail)? }))
    }

    /// The processors of the request on a machine.
    ///
    /// # Errors
    /// A sentence that names the core that is not there.
    pub fn processors(&self, topology: &Topology) -> Result<Vec<u32>, String> {
        let missing = |socket: usize, core: usize| format!("there is no core {core} on socket {socket}");
        let core = |socket: usize, core: usize| -> Result<&Vec<u32>, String> {
            topology.get(socket).and_then(|cores| cores.get(core)).ok_or_else(|| missing(socket, core))
        };
        let mut processors = Vec::new();
        match &self.cores {
            Cores::Explicit(pairs) => {
                for (socket, number) in pairs {
                    processors.extend_from_slice(core(*socket, *number)?);
                }
            }
            Cores::From { amount, step, socket, core: first } => {
                core(*socket, *first)?;
                let before: usize = topology.iter().take(*socket).map(Vec::len).sum();
                let all: Vec<&Vec<u32>> = topology.iter().flatten().collect();
                let chosen: Vec<_> = all.iter().skip(before + first).step_by(*step).take(*amount).collect();
                if chosen.len() < *amount {
                    return Err(format!("there are fewer than {amount} such cores"));
                }
                processors.extend(chosen.into_iter().flat_map(|core| core.iter().copied()));
            }
        }
        Ok(processors)
    }
}

/// Looks at the machine.
#[must_use]
pub fn topology() -> Topology {
    read_topology(Path::new("/sys/devices/system/cpu"))
}

fn read_topology(root: &Path) -> Topology {
    let mut processors = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("cpu")).and_then(|n| n.parse::<u32>().ok());
        let Some(number) = number else { continue };
        let id = |file: &str| -> Option<i64> {
            fs::read_to_string(entry.path().join("topology").join(file)).ok()?.trim().parse().ok()
        };
        // A processor that is off has no topology.
        if let (Some(package), Some(core)) = (id("physical_package_id"), id("core_id")) {
            processors.push((number, package, core));
        }
    }
    arrange(processors)
}

/// Sorts processors `(number, package, core)` into sockets and cores, each in the order of its first processor.
fn arrange(mut processors: Vec<(u32, i64, i64)>) -> Topology {
    processors.sort_unstable();
    let mut sockets: Topology = Vec::new();
    let mut known: BTreeMap<i64, (usize, BTreeMap<i64, usize>)> = BTreeMap::new();
    for (number, package, core) in processors {
        let next = sockets.len();
        let (socket, cores) = known.entry(package).or_insert_with(|| (next, BTreeMap::new()));
        if *socket == sockets.len() {
            sockets.push(Vec::new());
        }
        let place = &mut sockets[*socket];
        let index = *cores.entry(core).or_insert(place.len());
        if index == place.len() {
            place.push(Vec::new());
        }
        place[index].push(number);
    }
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores with two threads each, numbered as Linux does on such machines.
    fn machine() -> Topology {
        arrange(vec![(0, 0, 0), (1, 1, 0), (2, 0, 4), (3, 1, 4), (4, 0, 0), (5, 1, 0), (6, 0, 4), (7, 1, 4)])
    }

    fn processors(text: &str) -> Result<Vec<u32>, String> {
        Request::parse(text)?.ok_or("none")?.processors(&machine())
    }

    #[test]
    fn sockets_and_cores_are_counted_by_their_first_processor() {
        assert_eq!(machine(), [[[0, 4], [2, 6]], [[1, 5], [3, 7]]]);
    }

    #[test]
    fn cores_become_processors_of_the_system() {
        assert_eq!(processors("explicit:0,0:ScC"), Ok(vec![0, 4]));
        assert_eq!(processors("explicit:0,1:1,0:ScCSCC"), Ok(vec![2, 6, 1, 5]));
        assert_eq!(processors("linear:3:0,1:SCcSccC"), Ok(vec![2, 6, 1, 5, 3, 7]));
        assert_eq!(processors("striding:2:2:0,0:ScCScC"), Ok(vec![0, 4, 1, 5]));
        assert_eq!(processors("env_linear:1:1,1:SCCSCc"), Ok(vec![3, 7]));
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        assert_eq!(processors("explicit:2,0:S"), Err("there is no core 0 on socket 2".into()));
        assert_eq!(processors("linear:9:0,0:S"), Err("there are fewer than 9 such cores".into()));
    }

    #[test]
    fn no_request_is_no_binding() {
        for text in ["", "NULL", "none", "pe_linear:1:0,0:SC"] {
            assert_eq!(Request::parse(text), Ok(None), "{text}");
        }
        for text in ["explicit:x:S", "linear:1", "striding:1:0:0,0:S", "balanced:1"] {
            Request::parse(text).expect_err(text);
        }
        assert!(Request::parse("env_explicit:0,0:S").is_ok_and(|r| r.is_some_and(|r| r.environment_only)));
    }
}
