//! Where a machine keeps its accounts: the system's table, with whatever stands behind it (files, LDAP, SSSD).

use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::unistd::{User, getgrouplist};
use parking_lot::Mutex;

use crate::state::read_bounded;

const SHADOW: &str = "/etc/shadow";
const MAX_SHADOW_BYTES: u64 = 64 << 20;
const DAY_S: u64 = 24 * 60 * 60;

/// The ids of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
}

/// A table of accounts.
pub(super) trait Book {
    /// The account of this name; `None` when there is none.
    ///
    /// # Errors
    /// Why nobody can say, in words.
    fn find(&self, name: &str) -> Result<Option<Found>, String>;

    /// Why nobody may use the account, if the machine's own table says so.
    fn refusal(&self, name: &str) -> Option<&'static str>;
}

/// The tables of this machine.
pub(super) struct System;

impl Book for System {
    fn find(&self, name: &str) -> Result<Option<Found>, String> {
        let found = User::from_name(name).map_err(|error| error.to_string())?;
        let Some(user) = remembered(&SEEN, name, found)? else {
            return Ok(None);
        };
        // A table may fold names, and then this is not the account that the rule means.
        if user.name != name {
            return Ok(None);
        }
        let text = CString::new(name).map_err(|error| error.to_string())?;
        let groups = getgrouplist(&text, user.gid).map_err(|error| error.to_string())?;
        Ok(Some(Found {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.iter().map(|group| group.as_raw()).collect(),
        }))
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        // Only the superuser reads it; accounts of a directory are not in it.
        let shadow = read_bounded(Path::new(SHADOW), MAX_SHADOW_BYTES).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        refusal_in(&shadow, name, now.as_secs() / DAY_S)
    }
}

/// Names that were found since this process began.
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What was found, unless the name was found before and is not now: a table that does not answer, with another behind it that
/// says no, looks like this.
pub(super) fn remembered<T>(
    seen: &Mutex<BTreeSet<String>>,
    name: &str,
    found: Option<T>,
) -> Result<Option<T>, String> {
    let mut seen = seen.lock();
    if found.is_some() {
        seen.insert(name.to_owned());
    } else if seen.contains(name) {
        return Err(
            "it was there before, so a table of accounts may not answer; if it was removed, restart the node"
                .to_owned(),
        );
    }
    Ok(found)
}

/// What a table of passwords says against an account on a `today` that counts days since 1970.
pub(super) fn refusal_in(shadow: &[u8], name: &str, today: u64) -> Option<&'static str> {
    let line = shadow.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        (fields.next() == Some(name.as_bytes())).then(|| fields.collect::<Vec<_>>())
    })?;
    let password = line.first().copied().unwrap_or_default();
    // A password that was put out of use, and not one that was never given (`!`, `!!`, `!*`, `*`): who has a key has none.
    if password.starts_with(b"!") && password.iter().any(|byte| !matches!(byte, b'!' | b'*')) {
        return Some("is locked");
    }
    let expires = line
        .get(6)
        .and_then(|field| std::str::from_utf8(field).ok());
    let expires: Option<u64> = expires.and_then(|text| text.trim().parse().ok());
    expires
        .is_some_and(|day| today >= day)
        .then_some("has expired")
}
