//! What a writer of this crate writes, its reader reads.

use oxherd_handoff::{Config, ConfigWriter, Environment, Key, fuzzing};
use proptest::prelude::*;

proptest! {
    #[test]
    fn arguments_arrive_unchanged(arguments in prop::collection::vec("[^\n\0]{0,20}", 0..6), cwd in "/[^\n\0]{0,20}") {
        let mut writer = ConfigWriter::new();
        writer.set(Key::QueueTmpdir, "/tmp").set(Key::Cwd, &cwd);
        for argument in &arguments {
            writer.argument(argument);
        }
        let config = writer.config().expect("representable");
        prop_assert_eq!(config.os(Key::Cwd).and_then(|c| c.to_str()), Some(cwd.as_str()));
        let read: Vec<_> = config.arguments().map(|a| a.to_str().expect("UTF-8").to_owned()).collect();
        prop_assert_eq!(read, arguments);
    }

    /// What a stock execd writes for a user's argument never becomes anything but that argument.
    #[test]
    fn a_forged_argument_changes_no_other_value(argument in "(x|=|\n|\n(prolog|pty|job_arg1|queue_tmpdir|ox_uid)=[a-z]*){0,8}") {
        let text = format!("job_owner=u\nprolog=none\nnjob_args=1\njob_arg1={argument}\nqueue_tmpdir=/tmp\nuse_afs=0\n");
        if let Ok(config) = Config::parse(text.into_bytes()) {
            prop_assert_eq!(config.arguments().next().and_then(|a| a.to_str().map(str::to_owned)), Some(argument));
            prop_assert_eq!(config.get(Key::Prolog), Some(&b"none"[..]));
            prop_assert_eq!(config.get(Key::QueueTmpdir), Some(&b"/tmp"[..]));
            prop_assert_eq!(config.get(Key::Pty), None);
            prop_assert_eq!(config.get(Key::OxUid), None);
        }
    }

    #[test]
    fn variables_arrive_unchanged(variables in prop::collection::vec(("[A-Z_]{1,6}", "[^\0]{0,20}"), 0..6)) {
        let mut environment = Environment::new();
        for (name, value) in &variables {
            environment.set(name, value.as_str());
        }
        prop_assert_eq!(Environment::parse(&environment.text()), environment);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(data in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzzing::config(&data);
        fuzzing::environment(&data);
        fuzzing::small_files(&data);
    }
}
