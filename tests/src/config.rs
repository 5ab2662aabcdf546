//! The text of a `config` file: every key in the order a stock execd writes them.

/// The lines of a plain batch job, `key=value`, with `@…@` for what each test fills in.
const TEMPLATE: &str = include_str!("config.template");

/// The keys that stand in the file only when a parallel environment was granted, after `host_slots`.
const PE_KEYS: [&str; 6] =
    ["pe_hostfile", "pe_start", "pe_stop", "pe_qsort", "pe_stdout_path", "pe_stderr_path"];

/// An ordered list of keys and values.
#[derive(Debug, Clone)]
pub struct Config {
    lines: Vec<(String, String)>,
}

impl Config {
    /// The template with `@NAME@` replaced by the values given.
    pub fn from_template(values: &[(&str, &str)]) -> Self {
        let mut text = TEMPLATE.to_owned();
        for (name, value) in values {
            text = text.replace(&format!("@{name}@"), value);
        }
        let split = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self { lines: text.lines().filter_map(split).collect() }
    }

    /// The keys in the order of the file.
    pub fn keys(&self) -> Vec<&str> {
        self.lines.iter().map(|(key, _)| key.as_str()).collect()
    }

    #[track_caller]
    pub fn get(&self, key: &str) -> &str {
        &self.lines[self.place(key)].1
    }

    /// Gives a key of the file another value, which may contain newlines: a stock execd escapes nothing.
    #[track_caller]
    pub fn set(&mut self, key: &str, value: &str) {
        let place = self.place(key);
        self.lines[place].1 = value.to_owned();
    }

    /// Leaves a key out.
    #[track_caller]
    pub fn remove(&mut self, key: &str) {
        let place = self.place(key);
        self.lines.remove(place);
    }

    /// Adds a line after the one with the key `after`.
    #[track_caller]
    pub fn insert(&mut self, after: &str, key: &str, value: &str) {
        let place = self.place(after) + 1;
        self.lines.insert(place, (key.to_owned(), value.to_owned()));
    }

    /// Sets the arguments of the job.
    pub fn set_args(&mut self, args: &[&str]) {
        self.lines.retain(|(key, _)| !key.starts_with("job_arg"));
        self.set("njob_args", &args.len().to_string());
        let mut after = "njob_args".to_owned();
        for (number, arg) in args.iter().enumerate() {
            let key = format!("job_arg{}", number + 1);
            self.insert(&after, &key, arg);
            after = key;
        }
    }

    /// Adds the keys of a granted parallel environment.
    pub fn set_pe(&mut self, name: &str, slots: u32, hostfile: &str, output_dir: &str) {
        self.set("pe", name);
        self.set("pe_slots", &slots.to_string());
        self.set("host_slots", &slots.to_string());
        let mut after = "host_slots";
        for key in PE_KEYS {
            let value = match key {
                "pe_hostfile" => hostfile,
                "pe_stdout_path" | "pe_stderr_path" => output_dir,
                _ => "none",
            };
            self.insert(after, key, value);
            after = key;
        }
    }

    pub fn text(&self) -> String {
        self.lines.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }

    #[track_caller]
    fn place(&self, key: &str) -> usize {
        let place = self.lines.iter().position(|(known, _)| known == key);
        place.unwrap_or_else(|| panic!("the config has no key `{key}`"))
    }
}
