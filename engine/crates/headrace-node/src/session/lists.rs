//! Overwrite and delete lists, as they come with a ticket.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use headrace_core::code::{Code, Failure};
use headrace_core::list::{ListDigest, ListReader};

use super::failures::own_file_failed;

/// Read a list to its end: it must be the one the ticket names.
///
/// # Errors
/// [`Code::ListAltered`].
pub(super) fn check(path: Option<&Path>, sealed: ListDigest) -> Result<(), Failure> {
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
    ListReader::new(BufReader::new(file), sealed)
        .try_for_each(|line| line.map(drop).map_err(|error| altered(error.to_string())))
}
