//! What a node must remember over a loss of power is durable before it acts on it: its keys, and what a ticket binds a transfer to.
//! The program runs with a library in front that writes down its syncs and renames.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the program made durable and gave names to, in order.
struct Recorded(Vec<(String, PathBuf)>);

impl Recorded {
    /// Run the program with these arguments, in a folder of its own.
    fn run(folder: &Path, arguments: &[&str]) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durable_support/recorder.c");
        let (library, log) = (folder.join("recorder.so"), folder.join("log"));
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status();
        assert!(compiled.expect("a C compiler").success());
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace-node"));
        command
            .args(arguments)
            .env("HEADRACE_NODE_STATE", folder.join("state"))
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("LD_PRELOAD", library)
            .env("DURABLE_LOG", &log)
            .stdin(Stdio::null())
            .current_dir(folder);
        let ran = command.output().expect("the program starts");
        assert!(ran.status.success(), "{ran:?}");
        let lines = std::fs::read_to_string(log).expect("it was written down");
        let line = |line: &str| {
            let (what, path) = line.split_once(' ').expect("two words");
            (what.to_owned(), PathBuf::from(path))
        };
        Self(lines.lines().map(line).collect())
    }

    /// Where this was done first, from `start` on.
    fn find(&self, start: usize, what: &str, path: &Path) -> Option<usize> {
        let found = |(index, line): (usize, &(String, PathBuf))| {
            (index >= start && line.0 == what && line.1 == path).then_some(index)
        };
        self.0.iter().enumerate().find_map(found)
    }

    /// The content before the name, the name before anything else: what was renamed to `path` was synced, and then its folder.
    fn replaced_durably(&self, path: &Path) {
        let named = self.find(0, "name", path).expect("it has its name");
        let temporary = &self.0[named - 1].1;
        let synced = self.find(0, "sync", temporary);
        assert!(
            synced.is_some_and(|synced| synced < named),
            "the content of {} was not durable before its name",
            path.display()
        );
        self.folder_synced(named, path);
    }

    /// A file that was made under its own name.
    fn made_durably(&self, path: &Path) {
        let synced = self.find(0, "sync", path);
        let synced = synced.unwrap_or_else(|| panic!("{} is not durable", path.display()));
        self.folder_synced(synced, path);
    }

    fn folder_synced(&self, start: usize, path: &Path) {
        let folder = path.parent().expect("a folder");
        assert!(
            self.find(start, "sync", folder).is_some(),
            "the name of {} is not durable",
            path.display()
        );
    }
}

#[test]
fn a_key_is_durable_before_anybody_learns_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = Recorded::run(folder.path(), &["keygen", "--output", "key"]);
    recorded.made_durably(&folder.path().join("key"));
}

#[test]
fn what_a_ticket_binds_a_transfer_to_is_durable_before_anything_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "1").expect("a file");
    let recorded = Recorded::run(folder.path(), &["cp", "file", "copy"]);
    let named =
        |(what, path): &&(String, PathBuf)| what == "name" && path.ends_with("binding.json");
    let (_, binding) = recorded.0.iter().find(named).expect("a binding");
    recorded.replaced_durably(binding);
    // Its folder, and those above that may be new.
    for folder in binding.ancestors().skip(1).take(3) {
        assert!(
            recorded.find(0, "sync", folder).is_some(),
            "{} is not durable",
            folder.display()
        );
    }
}
