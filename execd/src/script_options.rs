//! Options inside a job script: lines that start with `#$`.

use crate::options::{Given, Ignored, OptionError, Options};
use crate::words;

/// The prefix of option lines. `-C` changes it in qsub(1); it stands at the very beginning of a line.
pub const PREFIX: &[u8] = b"#$";

/// Reads all option lines of a script. Bytes that are no UTF-8 can only be in comments and are replaced.
///
/// # Errors
/// The first line that cannot be understood.
pub fn read(script: &[u8]) -> Result<(Options, Vec<Ignored>), OptionError> {
    let (mut options, mut ignored) = (Options::default(), Vec::new());
    for (number, line) in (1..).zip(script.split(|byte| *byte == b'\n')) {
        let Some(rest) = line.strip_prefix(PREFIX) else { continue };
        let given = Given::Script { line: number };
        let words = words::split(&String::from_utf8_lossy(rest))
            .map_err(|source| OptionError::Words { given, source })?;
        options.read(&words, given, &mut ignored)?;
    }
    Ok((options, ignored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::WorkingDirectory;

    #[test]
    fn every_honoured_option_is_read() {
        let script = b"#!/bin/sh\n#$ -S /bin/bash -N sim\n#$-cwd\n# $ -N no\necho '#$ -N no'\n #$ -N no\n\
            #$ -o out/$JOB_ID -e host:err -i /dev/null -j y\n#$ -l h_rt=0:10:0,h_vmem=1G\n\
            #$ -notify -V -v 'A=a b,B' -b n -shell y -pe smp 2-4\n#$ -m be # tell me\n";
        let (options, ignored) = read(script).expect("legal");
        let name = options.name.expect("set");
        assert_eq!((name.value.as_str(), name.given), ("sim", Given::Script { line: 2 }));
        assert_eq!(options.shell.expect("set").value, "/bin/bash");
        assert_eq!(options.working_directory.expect("set").value, WorkingDirectory::Current);
        assert_eq!(options.stdout.expect("set").value, "out/$JOB_ID");
        assert_eq!(options.stderr.expect("set").value, "host:err");
        assert_eq!(options.stdin.expect("set").value, "/dev/null");
        assert!(options.merge.expect("set").value);
        let resources: Vec<_> = options.resources.iter().map(|set| (&*set.value.0, &*set.value.1)).collect();
        assert_eq!(resources, [("h_rt", "0:10:0"), ("h_vmem", "1G")]);
        assert!(options.notify.is_some() && options.all_variables.is_some());
        let variables: Vec<_> = options.variables.into_iter().map(|set| set.value).collect();
        assert_eq!(variables, [("A".to_owned(), Some("a b".to_owned())), ("B".to_owned(), None)]);
        assert!(!options.binary.expect("set").value);
        assert!(options.use_shell.expect("set").value);
        let parallel = options.parallel.expect("set").value;
        assert_eq!((parallel.name.as_str(), parallel.slots), ("smp", 2));
        assert_eq!(ignored.len(), 1);
        assert_eq!((ignored[0].option.as_str(), ignored[0].given), ("-m", Given::Script { line: 10 }));
    }

    #[test]
    fn an_error_names_the_line() {
        let error = read(b"#!/bin/sh\n\n#$ -v 'A=1\n").expect_err("open quote");
        assert_eq!(error.to_string(), "script line 3: the quote `'` is not closed");
    }
}
