//! Overwrite and delete lists, as they come with a ticket.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use headrace_core::code::{Code, Failure};
use headrace_core::list::{ListDigest, ListReader};

use super::failures::own_file_failed;

/// Read a list to its end: it must be the one the ticket names. Of each line `permitted` is asked.
///
/// # Errors
/// [`Code::ListAltered`], and what `permitted` answers.
pub(super) fn check(
    path: Option<&Path>,
    sealed: ListDigest,
    permitted: &dyn Fn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let altered = |detail: String| {
        Failure::new(
            Code::ListAltered,
            format!("a list of the plan cannot be used: {detail}"),
        )
    };
    let Some(path) = path else {
        let missing = || {
            altered(format!(
                "it has {} lines and was not handed over",
                sealed.count
            ))
        };
        return if sealed == ListDigest::empty() {
            Ok(())
        } else {
            Err(missing())
        };
    };
    let file = File::open(path).map_err(|error| {
        let what = "a list of the plan cannot be used";
        own_file_failed(Code::ListAltered, what, &error)
    })?;
    ListReader::new(BufReader::new(file), sealed).try_for_each(|line| {
        line.map_err(|error| altered(error.to_string()))?;
        permitted()
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use headrace_core::entry::Kind;
    use headrace_core::list::{ListEntry, ListWriter};
    use headrace_core::name::RelPath;
    use headrace_core::version::Version;

    use super::*;

    #[test]
    fn a_list_is_checked_no_further_than_somebody_says_stop() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list.jsonl");
        let mut list = ListWriter::new(File::create(&path).expect("a file"));
        for number in 0..9 {
            let line = ListEntry {
                mtime_ns: 1,
                path: RelPath::from_bytes(format!("{number}").as_bytes()).expect("a path"),
                size: 1,
                kind: Kind::File,
                version: Version::new(b"1").expect("short"),
            };
            list.push(&line).expect("written");
        }
        let sealed = list.finish().expect("written").1;
        for most in 0..9 {
            let asked = Cell::new(0);
            let stopped = check(Some(&path), sealed, &|| {
                asked.set(asked.get() + 1);
                if asked.get() <= most {
                    return Ok(());
                }
                Err(Failure::new(Code::Stopped, "enough"))
            });
            assert_eq!(stopped.expect_err("stopped").code, Code::Stopped);
            assert_eq!(asked.get(), most + 1);
        }
        assert_eq!(check(Some(&path), sealed, &|| Ok(())), Ok(()));
    }
}
