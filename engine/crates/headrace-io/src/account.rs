//! Local accounts: what a thread does on a file system in the name of one is checked by the kernel against that account.
//!
//! On Linux a user, its groups and its capabilities belong to a *thread*. [`act_as`] makes the calling thread a local account and the guard
//! that it returns makes it the node again. Only effective ids change: the real and the saved user stay the node's, so that the account's own
//! processes can send the node no signal, and the thread can go back. From the superuser to anybody else the kernel also takes all
//! effective capabilities away, for as long as the thread is the account. Everything goes through system calls of this thread: the C
//! library's functions of the same names would change every thread.
//!
//! The only callers are [`Root`](crate::root::Root) and [`Dir`](crate::root::Dir), which hand out their descriptors in no other way.

use std::cell::{Cell, RefCell};
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use rustix::process::{Gid, Uid};
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, capabilities, capabilities_secure_bits,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use thiserror::Error;

/// Most groups of one account, as the kernel has it.
const MAX_GROUPS: usize = 65_536;
/// The id that means "leave it as it is" in system calls.
const NO_ID: u32 = u32::MAX;

/// Capabilities by which permissions, owners, quotas or immutable files count for nothing.
const OVERRIDING: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::MAC_OVERRIDE)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_RESOURCE);

/// A local account: never the superuser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    name: String,
    uid: Uid,
    gid: Gid,
    /// In rising order, each once: the kernel gives them so.
    groups: Vec<Gid>,
}

impl Account {
    /// The account with these ids; `name` is for messages. `groups` are the supplementary ones, in any order.
    ///
    /// # Errors
    /// [`AccountError`] for the superuser, for ids that no account has, and for more than 65,536 groups.
    pub fn new(name: &str, uid: u32, gid: u32, groups: &[u32]) -> Result<Self, AccountError> {
        let name = name.to_owned();
        if uid == 0 {
            return Err(AccountError::Superuser { name });
        }
        if uid == NO_ID || gid == NO_ID || groups.contains(&NO_ID) {
            return Err(AccountError::NoId { name });
        }
        if groups.len() > MAX_GROUPS {
            return Err(AccountError::TooManyGroups { name });
        }
        let mut groups: Vec<u32> = groups.to_vec();
        groups.sort_unstable();
        groups.dedup();
        Ok(Self {
            name,
            uid: Uid::from_raw(uid),
            gid: Gid::from_raw(gid),
            groups: groups.into_iter().map(Gid::from_raw).collect(),
        })
    }

    /// What it is called, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its user id.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    /// The id of its own group.
    #[must_use]
    pub fn gid(&self) -> u32 {
        self.gid.as_raw()
    }

    /// The ids of its supplementary groups, in rising order.
    pub fn groups(&self) -> impl Iterator<Item = u32> {
        self.groups.iter().map(|group| group.as_raw())
    }

    /// Whether files are checked and made alike for both, whatever they are called.
    fn is(&self, other: &Self) -> bool {
        (self.uid, self.gid) == (other.uid, other.gid) && self.groups == other.groups
    }
}

/// Why nobody acts as an account.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccountError {
    /// It is uid 0.
    #[error("`{name}` is the superuser, as which no node acts for anybody")]
    Superuser {
        /// The account.
        name: String,
    },
    /// An id is the one that means none.
    #[error("`{name}` has an id that no account has")]
    NoId {
        /// The account.
        name: String,
    },
    /// More groups than the kernel takes.
    #[error("`{name}` is in more than {MAX_GROUPS} groups")]
    TooManyGroups {
        /// The account.
        name: String,
    },
}

/// Whether this process can act as other accounts, and is held to their permissions then.
///
/// # Errors
/// What is missing or too much, and what to do about it, for whoever runs the node.
pub fn can_act() -> Result<(), CannotAct> {
    own();
    let held = capabilities(None)
        .map_err(|error| CannotAct::Unknown(error.into()))?
        .effective;
    if !held.contains(CapabilitySet::SETUID.union(CapabilitySet::SETGID)) {
        return Err(CannotAct::Missing);
    }
    // What is not allowed to it, a thread could not take back either.
    set_thread_groups(&own().groups).map_err(|error| CannotAct::Unknown(error.into()))?;
    if own().uid.is_root() {
        let bits = capabilities_secure_bits().map_err(|error| CannotAct::Unknown(error.into()))?;
        if bits.contains(CapabilitiesSecureBits::NO_SETUID_FIXUP) {
            return Err(CannotAct::KeepsCapabilities);
        }
        return Ok(());
    }
    check_capabilities(held)
}

/// Why a process can't act as other accounts.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CannotAct {
    /// It may not change its ids.
    #[error(
        "the node can act as no other account: it has not both CAP_SETUID and CAP_SETGID; let its service manager give it these two"
    )]
    Missing,
    /// It would keep what overrides permissions.
    #[error(
        "the node holds capabilities by which permissions count for nothing ({0}): take them away, it needs CAP_SETUID and CAP_SETGID only"
    )]
    Overrides(String),
    /// The superuser keeps its capabilities as anybody else (`SECBIT_NO_SETUID_FIXUP`).
    #[error(
        "the node keeps its capabilities whoever it acts as (no-setuid-fixup): start it without that secure bit"
    )]
    KeepsCapabilities,
    /// The kernel does not say.
    #[error("the node can't learn what it may do, or not set its own groups: {0}")]
    Unknown(#[source] io::Error),
}

fn check_capabilities(held: CapabilitySet) -> Result<(), CannotAct> {
    let too_much = held.intersection(OVERRIDING);
    if too_much.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = too_much
        .iter_names()
        .map(|(name, _)| format!("CAP_{name}"))
        .collect();
    Err(CannotAct::Overrides(names.join(", ")))
}

/// Who the node is.
#[derive(Debug)]
struct Own {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

/// Who the node is; asked for the first time before any thread is somebody else.
fn own() -> &'static Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    OWN.get_or_init(|| Own {
        uid: geteuid(),
        gid: getegid(),
        groups: getgroups().unwrap_or_default(),
    })
}

thread_local! {
    /// Whom this thread acts as, and how many guards say so.
    static NOW: RefCell<Option<(Arc<Account>, u32)>> = const { RefCell::new(None) };
    /// Whether this thread was seen without capabilities that override permissions.
    static CHECKED: Cell<bool> = const { Cell::new(false) };
}

/// As long as it lives, its thread acts as an account. It stays on its thread.
#[derive(Debug)]
#[must_use]
pub struct Acting(PhantomData<*const ()>);

/// Let this thread be `account` until the guard is dropped. Within a guard of the same account, this does nothing more.
///
/// The process ends at once when a thread can't become the node again: it would do the node's own work as somebody else.
///
/// # Errors
/// What the kernel answers; that a thread is another account already; that it would override permissions. The thread is the node then.
pub fn act_as(account: &Arc<Account>) -> io::Result<Acting> {
    NOW.with_borrow_mut(|now| {
        match now {
            Some((current, guards)) if current.is(account) => *guards += 1,
            Some((current, _)) => {
                let message = format!(
                    "a thread that acts as `{}` can't act as `{}`",
                    current.name, account.name
                );
                return Err(io::Error::other(message));
            }
            None => {
                own();
                if let Err(error) = become_account(account) {
                    become_node();
                    return Err(error);
                }
                *now = Some((Arc::clone(account), 1));
            }
        }
        Ok(Acting(PhantomData))
    })
}

impl Drop for Acting {
    fn drop(&mut self) {
        NOW.with_borrow_mut(|now| {
            if let Some((_, guards)) = now {
                *guards -= 1;
                if *guards == 0 {
                    *now = None;
                    become_node();
                }
            }
        });
    }
}

fn become_account(account: &Account) -> io::Result<()> {
    // The user last: it is what may change the others.
    set_thread_groups(&account.groups)?;
    set_thread_res_gid(None, account.gid, None)?;
    set_thread_res_uid(None, account.uid, None)?;
    let groups = getgroups()?;
    if (geteuid(), getegid()) != (account.uid, account.gid) || groups != account.groups {
        let message = format!(
            "the thread is not `{}` after it became that account",
            account.name
        );
        return Err(io::Error::other(message));
    }
    if !CHECKED.get() {
        check_capabilities(capabilities(None)?.effective).map_err(io::Error::other)?;
        CHECKED.set(true);
    }
    Ok(())
}

/// Be the node again, or end the process.
fn become_node() {
    let own = own();
    // The user first: it is what may change the others.
    let back = set_thread_res_uid(None, own.uid, None)
        .and_then(|()| set_thread_res_gid(None, own.gid, None))
        .and_then(|()| set_thread_groups(&own.groups));
    if back.is_err() || (geteuid(), getegid()) != (own.uid, own.gid) {
        tracing::error!(
            ?back,
            "a thread can't become the node again: the process ends"
        );
        std::process::abort();
    }
}
