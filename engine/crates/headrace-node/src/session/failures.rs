//! Failures that any thread of a session may have: of the node's own state folder, and of its own code.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_io::descriptors::is_shortage;

/// Whether work may still go on: a stop, the kill switch or the end of the ticket answers with the failure that the work ends with. Whoever
/// goes over names, or over the bytes of a file, asks on the way: a list may be so long that it takes minutes, and a file hours.
pub type Permitted = Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>;

/// The same question for what knows no failures but those of a storage. Whoever makes a failure of what a storage answers
/// ([`state_failed`], `destination_failure`) gives the answer back as it was ([`answered`]).
pub(crate) fn asking(permitted: &dyn Fn() -> Result<(), Failure>) -> impl Fn() -> io::Result<()> {
    move || permitted().map_err(io::Error::other)
}

/// What [`asking`] was answered with, if that is what this is.
pub(crate) fn answered(error: &io::Error) -> Option<Failure> {
    error.get_ref()?.downcast_ref::<Failure>().cloned()
}

/// Do `work`; that it panicked is a failure like others, so that nobody waits for what will not come.
pub(crate) fn contained<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message = "a thread of the engine panicked";
        Err(Failure::new(Code::Internal, message))
    })
}

/// The node's own state folder does not work. Where only too much is open, nothing is wrong with it: others close theirs, and it works again.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn state_failed(error: io::Error) -> Failure {
    own_file_failed(
        Code::StateFailed,
        "the node's state folder cannot be used",
        &error,
    )
}

/// A file that the node keeps for itself does not work, which has `code` unless only too much is open.
pub(crate) fn own_file_failed(code: Code, what: &str, error: &io::Error) -> Failure {
    if let Some(failure) = answered(error) {
        return failure;
    }
    if lies_in_shortage(error) {
        let message = format!(
            "this process or its host has too much open ({error}): run fewer transfers at a time on this node, or raise the limit of open \
             files (`LimitNOFILE=` of its unit, `ulimit -n`)"
        );
        return Failure::new(Code::TooBusy, message);
    }
    Failure::new(code, format!("{what}: {error}"))
}

/// Whether an error, or one that it tells of, is a shortage.
fn lies_in_shortage(error: &io::Error) -> bool {
    let mut told = error.get_ref().map(|told| told as &(dyn Error + 'static));
    while let Some(of) = told {
        if of.downcast_ref::<io::Error>().is_some_and(lies_in_shortage) {
            return true;
        }
        told = of.source();
    }
    is_shortage(error)
}

#[cfg(test)]
mod tests {
    use headrace_core::access::Access;
    use headrace_io::root::RootError;
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_stop_that_a_storage_hands_on_stays_a_stop() {
        let stop = Failure::new(Code::Stopped, "enough");
        let stops = || Err(stop.clone());
        let handed_on = || asking(&stops)().expect_err("stopped");
        assert_eq!(state_failed(handed_on()), stop);
        let of_list = own_file_failed(Code::ListAltered, "a list", &handed_on());
        assert_eq!(of_list, stop);
        assert_eq!(asking(&|| Ok(()))().map_err(state_failed), Ok(()));
        assert!(answered(&io::Error::other("enough")).is_none());
    }

    #[test]
    fn where_no_descriptor_is_left_the_node_is_busy_and_its_state_folder_is_not_blamed() {
        let of = |error: Errno| io::Error::from_raw_os_error(error.raw_os_error());
        let root = RootError::Open {
            name: "state".to_owned(),
            path: "/var/lib/headrace".into(),
            source: of(Errno::MFILE),
        };
        for error in [of(Errno::MFILE), of(Errno::NFILE), io::Error::other(root)] {
            let told = error.to_string();
            let failure = state_failed(error);
            assert_eq!(failure.code, Code::TooBusy, "{told}");
            let says = ["Too many open files", "LimitNOFILE", "fewer transfers"];
            assert!(
                says.iter().all(|words| failure.message.contains(words)),
                "{failure}"
            );
            assert!(
                !failure.message.contains("state folder cannot"),
                "{failure}"
            );
        }
        assert_eq!(state_failed(of(Errno::ACCESS)).code, Code::StateFailed);
        let path = std::path::Path::new("/nowhere");
        let missing = headrace_io::root::Root::open("state", path, Access::Write);
        let missing = io::Error::other(missing.expect_err("nothing is there"));
        assert_eq!(state_failed(missing).code, Code::StateFailed);
        // A list that can't be opened for that is as it was sealed.
        let list = |error| own_file_failed(Code::ListAltered, "a list", &of(error)).code;
        let codes = [Errno::MFILE, Errno::NOENT].map(list);
        assert_eq!(codes, [Code::TooBusy, Code::ListAltered]);
    }
}
