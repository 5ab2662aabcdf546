//! `docs/attributes.md` from the table.

use super::ATTRIBUTES;

/// The text of `docs/attributes.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Queue attributes\n\n\
         <!-- Generated from crates/conf/src/attribute/table.rs. Refresh: UPDATE=1 cargo test -p oxherd-conf --test attributes -->\n\n\
         Every parameter of queue_conf(5) in the order of `qconf -sq`. *Applied*: it has its effect on this host. \
         *Passed through*: it reaches the job's `config` and has no effect of its own. \
         *Not applied yet*: a mistake in it is found, and that is all. \
         Every parameter but `qname` and `hostlist` takes host-dependent values: \
         `default,[host=value],[@group=value]`.\n\n\
         | Attribute | Type | Template | Status | What it does |\n|---|---|---|---|---|\n",
    );
    for attribute in &ATTRIBUTES {
        text.push_str(&format!(
            "| `{}` | {} | `{}` | {} | {} |\n",
            attribute.name,
            attribute.kind.describe().replace('|', "\\|"),
            attribute.default,
            attribute.status.describe(),
            attribute.doc
        ));
    }
    text.push_str(
        "\n## Times and amounts of memory\n\n\
         A time is a number of seconds, `hours:minutes:seconds` (a part may be empty or exceed 59) or `INFINITY`. \
         Memory is a number of bytes, optionally followed by one letter: `k m g t` count in thousands, `K M G T` in \
         1024s; or `INFINITY`. Numbers may have a fraction or an exponent, and may be hexadecimal (`0x10`). \
         The suffixes also apply to times: `1m` is a million seconds, not a minute.\n\n\
         In files written by hand a sign, a leading zero that makes a number octal, `nan` and numbers that \
         Grid Engine 8.1.9 would cut to 32 bits are refused. From a qmaster or in a job's request they keep the \
         meaning they have there, with a warning.\n",
    );
    text
}
