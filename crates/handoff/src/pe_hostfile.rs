//! `pe_hostfile`: one line for each granted queue instance, `HOST SLOTS QUEUE@HOST PROCESSORS`.

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub host: String,
    pub slots: u32,
    pub queue_instance: String,
    /// `UNDEFINED`, a range of processors, or the cores of a `-binding pe` request.
    pub processors: String,
}

/// The text of the file.
#[must_use]
pub fn text(grants: &[Grant]) -> String {
    grants
        .iter()
        .map(|grant| {
            format!("{} {} {} {}\n", grant.host, grant.slots, grant.queue_instance, grant.processors)
        })
        .collect()
}

/// Reads a file; lines that do not have four words are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<Grant> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let grant = Grant {
                host: words.next()?.to_owned(),
                slots: words.next()?.parse().ok()?,
                queue_instance: words.next()?.to_owned(),
                processors: words.next()?.to_owned(),
            };
            words.next().is_none().then_some(grant)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        // spec row 34
        let line = "host 2 q@host UNDEFINED\n";
        assert_eq!(text(&parse(line)), line);
        assert_eq!(parse("short 2\nlong 2 q x y\n"), []);
    }
}
