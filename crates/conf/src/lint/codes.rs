//! Stable names of all diagnostics, with the long text that `lint --explain CODE` prints.

/// Code and explanation.
pub const CODES: &[(&str, &str)] = &[
    ("syntax-value-missing", "A line has a name and nothing behind it. Empty values are written NONE."),
    (
        "syntax-backslash",
        "A backslash joins two lines only if the line ends right behind it; a blank in between undoes that.",
    ),
    (
        "syntax-comment-continued",
        "Lines are joined before comments are recognised, so the next line is part of the comment.",
    ),
    ("queue-unknown-attribute", "Attribute names are those of queue_conf(5), in lower case."),
    ("queue-duplicate-attribute", "Each attribute occurs once in a file."),
    ("queue-missing-attribute", "A queue file has all attributes, as `qconf -sq` prints them."),
    (
        "queue-no-default",
        "Every attribute needs a value without brackets for hosts that have none of their own.",
    ),
    ("queue-empty-value", "A value is missing. Empty values are written NONE."),
    (
        "queue-override-comma",
        "Host-dependent values are separated from the default and from each other by commas.",
    ),
    (
        "queue-override-brackets",
        "A host-dependent value without brackets. Grid Engine 8.1.9 accepts some such lines and ignores the host's value.",
    ),
    ("queue-override-unclosed", "A `[` without its `]`."),
    ("queue-override-blank", "Blanks beside brackets and the equal sign are refused, as stock does."),
    ("queue-override-host", "Brackets hold `host=value` or `@group=value`."),
    (
        "queue-override-forbidden",
        "`qname` and `hostlist` are the same on all hosts, and `--set` gives one value.",
    ),
    ("queue-host-multiply-defined", "One attribute has two values for the same host or group."),
    (
        "value-time",
        "A time is a number of seconds, hours:minutes:seconds or INFINITY. Letters multiply; `1h` does not exist.",
    ),
    (
        "value-memory",
        "Memory is a number of bytes with at most one letter of k K m M g G t T, or INFINITY. `1GB` does not exist.",
    ),
    ("value-number", "A whole number without sign and suffix."),
    ("value-bool", "TRUE or FALSE."),
    ("value-priority", "A nice value from -20 to 20."),
    ("value-fraction", "A fraction where a whole number is meant; it is cut off."),
    ("value-name", "A name cannot contain blanks, commas, brackets, quotes or an equal sign."),
    ("value-list", "A list has elements or is NONE."),
    ("value-host", "Host names have letters, digits, dots, dashes and underscores; groups start with @."),
    ("value-queue-type", "BATCH, INTERACTIVE, both or NONE."),
    ("value-complex", "Thresholds and capacities are written complex=value."),
    ("value-processors", "Ranges like 1-4,8 or UNDEFINED."),
    ("value-shell", "The shell is an absolute path; NONE is refused."),
    ("value-procedure", "A command line, optionally with user@ before the path, or NONE."),
    (
        "value-method",
        "Control methods are NONE, a signal or an absolute path. Stock accepts anything and then fails each job (code 7).",
    ),
    ("value-start-mode", "posix_compliant, unix_behavior or script_from_stdin."),
    ("value-subordinates", "A list of queue[=slots], or slots=n(queue[:seq_no][:sr|lr],...)."),
    ("value-initial-state", "default, enabled or disabled."),
    ("value-repeated", "An element occurs twice."),
    ("value-octal", "A leading zero makes a number octal in Grid Engine."),
    ("value-negative", "Signs wrap or vanish in Grid Engine."),
    (
        "value-not-a-number",
        "nan and inf are accepted by stock and mean nothing sensible; no limit is INFINITY.",
    ),
    ("value-truncated", "Stock cuts hexadecimal and octal numbers to 32 bits."),
    ("value-text-ignored", "Stock stops reading a number at `,` or `/`."),
    ("value-above-int32", "Stock cannot show times of 2^31 seconds and more."),
    ("value-saturated", "The value does not fit into 64 bits and is no limit at all."),
    ("value-time-as-memory", "A time where memory is meant counts its seconds as bytes."),
    ("value-bool-as-memory", "TRUE and FALSE count as 1 and 0 bytes."),
    (
        "queue-soft-above-hard",
        "A soft limit above the hard one is lowered to it; the warning comes too late or never.",
    ),
    ("queue-h-rt-below-notify", "With -notify a job lives for the notify time after the limit was reached."),
    (
        "queue-limit-below-floor",
        "Programs could not even start below these values, so the shepherd raises them, as stock does.",
    ),
    ("queue-time-suffix", "Suffixes count as in sizes: 30m is thirty million seconds."),
    ("queue-no-effect", "Linux does nothing with this value."),
    (
        "queue-suspend-never",
        "Thresholds are set, and the interval or the number of jobs keeps them from working.",
    ),
    ("queue-relative-path", "A relative path depends on the directory the job was submitted from."),
    ("queue-path-with-blank", "The whole value is one path; blanks do not start arguments."),
    (
        "queue-program-missing",
        "The program does not exist on this host, so jobs cannot start or end properly.",
    ),
    ("queue-program-not-executable", "The file lacks the execute bit or is a directory."),
    ("queue-tmpdir", "The directory for temporary directories must be an absolute path of a directory."),
    (
        "queue-unknown-variable",
        "Unknown variables make the shepherd of 8.1.9 fail the job and close the queue; here they stay as text.",
    ),
    (
        "queue-threshold-unknown",
        "OX-Q-110: stock accepts thresholds on complexes that do not exist, and the queue never leaves its alarm.",
    ),
    ("queue-complex-unknown", "Capacities need a complex."),
    ("queue-complex-value", "The value does not have the type of its complex."),
    ("queue-unknown-reference", "The named object does not exist."),
    ("queue-unknown-group", "The host group does not exist."),
    (
        "queue-override-unused",
        "A value for a host on which the queue has no instance. It is kept (\"detached\").",
    ),
    ("queue-subordinate-self", "A queue cannot give way to itself."),
    (
        "queue-subordinate-never",
        "The number of slots that triggers the suspension is above the slots of the queue.",
    ),
    ("queue-no-slots", "Without slots nothing runs."),
    ("queue-no-hosts", "Without hosts there is no queue instance."),
    ("queue-no-type", "Neither batch nor interactive jobs, nor any environment."),
    ("queue-access-both", "What is admitted and denied is denied."),
    ("object-duplicate", "Each entry occurs once in a file."),
    ("object-unknown-name", "This kind of object has no such entry."),
    ("object-missing", "The object cannot be used without this entry."),
    ("pe-allocation-rule", "$pe_slots, $fill_up, $round_robin or a number of slots for each host."),
    ("ckpt-interface", "One of the interfaces of sge_checkpoint(5)."),
    ("ckpt-signal", "A signal name, a number or none."),
    ("ckpt-when", "Letters of s, m, x and r."),
    ("hostgroup-name", "Host groups start with @."),
    ("conf-global-only", "A host's own configuration cannot set this."),
    ("conf-gid-range", "Ranges of unused group ids, or none."),
    ("complex-columns", "A complex has eight columns."),
    ("complex-column", "A column has a word that is not allowed there."),
    ("complex-duplicate", "Names and shortcuts are unique together."),
];

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, text)| *text)
}
