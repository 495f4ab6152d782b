//! The key that a hub answers with, and the one that comes after it.
//!
//! `hub.key` is the key. While it is replaced, `hub.next.key` holds the next one, and `hub-succession.json` says since when and until when. The
//! hub answers with the former key until then, and nodes learn the next one: by the word of the authority, which the service seals. For a
//! week more ([`FORMER_HUB_KEY_KEPT_MS`]) it keeps all three and answers with the former key to a node that asks for it by name, which was
//! away by then. Whenever it ends, the next start goes on from there.

use std::io;

use headrace_core::sealed::SigningKey;
use headrace_core::succession::{FORMER_HUB_KEY_KEPT_MS, Succession};
use headrace_core::value::{Label, Timestamp};

use crate::problem::{ControlCode, Problem};
use crate::state::{
    KeyOwner, StateDir, read_bounded, read_key, remove, remove_unfinished, sync_parent,
    write_durably, write_new_key,
};

const KEY: &str = "hub.key";
const NEXT: &str = "hub.next.key";
const SUCCESSION: &str = "hub-succession.json";
const MAX_SUCCESSION_BYTES: u64 = 4096;

/// The keys of a hub.
pub(crate) struct HubKeys {
    key: SigningKey,
    next: Option<Next>,
}

struct Next {
    key: SigningKey,
    said: Succession,
}

impl Next {
    /// First instant at which the former key is not kept any more.
    fn kept_until(&self) -> Timestamp {
        self.said.until.plus_ms(FORMER_HUB_KEY_KEPT_MS)
    }
}

impl HubKeys {
    /// Opens the keys in this folder; makes one on the first start. A key that is not kept any more gives way to the next.
    ///
    /// # Errors
    /// `state_failed`, or `config_invalid` when the files do not belong together.
    pub(crate) fn open(state: &StateDir, now: Timestamp) -> Result<Self, Problem> {
        let key = state.key(KEY, KeyOwner::Hub)?;
        remove_unfinished(&state.join(NEXT))?;
        let Some(said) = read_succession(state)? else {
            return Ok(Self { key, next: None });
        };
        let next = read_key(&state.join(NEXT), KeyOwner::Hub)?;
        if key.public() == said.next {
            // Cut off after the next key had taken its place.
            remove(&state.join(SUCCESSION))?;
            return Ok(Self { key, next: None });
        }
        let next = next.filter(|next| (key.public(), next.public()) == (said.former, said.next));
        let Some(next) = next else {
            let message = format!(
                "`{}` names other keys than `{KEY}` and `{NEXT}` beside it: put all three back from a backup",
                state.join(SUCCESSION).display()
            );
            return Err(Problem::new(ControlCode::ConfigInvalid, message));
        };
        let next = Next { key: next, said };
        if now < next.kept_until() {
            let next = Some(next);
            return Ok(Self { key, next });
        }
        let path = state.join(KEY);
        std::fs::rename(state.join(NEXT), &path)
            .and_then(|()| sync_parent(&path))
            .map_err(|error| Problem::state("write", &path, &error))?;
        remove(&state.join(SUCCESSION))?;
        Ok(Self {
            key: next.key,
            next: None,
        })
    }

    /// The key that the hub answers with.
    pub(crate) fn answering(&self, now: Timestamp) -> &SigningKey {
        match &self.next {
            Some(next) if now >= next.said.until => &next.key,
            _ => &self.key,
        }
    }

    /// The other key, with which the hub answers to a node that asks for it: the next one, and then the former one while it is kept.
    pub(crate) fn asked_for(&self, now: Timestamp) -> Option<&SigningKey> {
        let next = self.next.as_ref().filter(|next| now < next.kept_until())?;
        Some(if now < next.said.until {
            &next.key
        } else {
            &self.key
        })
    }

    /// Which key comes after which, while the former one is kept.
    pub(crate) fn succession(&self, now: Timestamp) -> Option<&Succession> {
        let next = self.next.as_ref().filter(|next| now < next.kept_until());
        next.map(|next| &next.said)
    }
}

/// Lets another key come after that of the hub in this folder, which does not run. Both count from now on until `until`.
///
/// # Errors
/// `config_invalid` while another one is on its way or no hub has run here, `state_failed`.
pub fn begin_succession(
    state: &StateDir,
    from: Timestamp,
    until: Timestamp,
) -> Result<Succession, Problem> {
    if read_key(&state.join(KEY), KeyOwner::Hub)?.is_none() {
        let message = format!("no hub has run in `{}`", state.path().display());
        return Err(Problem::new(ControlCode::ConfigInvalid, message));
    }
    let keys = HubKeys::open(state, from)?;
    if let Some(next) = &keys.next {
        let message = format!(
            "the hub's key is being replaced, and nodes that are away may still come back with the former one: another one can follow \
             after {}",
            next.kept_until()
        );
        return Err(Problem::new(ControlCode::ConfigInvalid, message));
    }
    let path = state.join(NEXT);
    // Of one that was cut off: nothing has happened before the succession is kept.
    remove(&path)?;
    let said = Succession {
        former: keys.key.public(),
        next: write_new_key(&path)?.public(),
        from,
        until,
        site: Label::default(),
    };
    let path = state.join(SUCCESSION);
    let bytes =
        serde_json::to_vec(&said).map_err(|error| Problem::state("write", &path, &error.into()))?;
    write_durably(&path, &bytes)?;
    Ok(said)
}

fn read_succession(state: &StateDir) -> Result<Option<Succession>, Problem> {
    let path = state.join(SUCCESSION);
    match read_bounded(&path, MAX_SUCCESSION_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            let message = format!("`{}` can't be used: {error}", path.display());
            Problem::new(ControlCode::ConfigInvalid, message)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problem::state("read", &path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::sealed::PublicKey;

    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);
    const OVER: Timestamp = NOW.plus_ms(1000);
    const KEPT: Timestamp = OVER.plus_ms(FORMER_HUB_KEY_KEPT_MS);

    fn answers(state: &StateDir, now: Timestamp) -> PublicKey {
        let keys = HubKeys::open(state, now).expect("keys");
        keys.answering(now).public()
    }

    #[test]
    fn a_replacement_that_is_cut_off_anywhere_has_happened_or_has_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let code = |begun: Result<Succession, Problem>| begun.expect_err("refused").code;
        assert_eq!(
            code(begin_succession(&state, NOW, OVER)),
            "config_invalid",
            "no hub"
        );
        let first = answers(&state, NOW);
        write_new_key(&state.join(NEXT)).expect("made, and cut off");
        assert_eq!(answers(&state, OVER), first);
        let said = begin_succession(&state, NOW, OVER).expect("begun again");
        assert_eq!(said.former, first);
        assert_eq!(
            code(begin_succession(&state, NOW, OVER)),
            "config_invalid",
            "on its way"
        );
        assert_eq!(answers(&state, NOW), first);
        let keys = HubKeys::open(&state, NOW).expect("keys");
        assert_eq!(keys.succession(NOW), Some(&said));
        let asked_for = |now| {
            HubKeys::open(&state, now)
                .expect("keys")
                .asked_for(now)
                .map(SigningKey::public)
        };
        assert_eq!(
            (keys.answering(NOW).public(), asked_for(NOW)),
            (first, Some(said.next))
        );
        // A week in which the former one is kept, over restarts.
        for now in [OVER, KEPT.plus_ms(-1)] {
            assert_eq!(keys.succession(now), Some(&said));
            assert_eq!(
                (answers(&state, now), asked_for(now)),
                (said.next, Some(first))
            );
            assert_eq!(
                code(begin_succession(&state, now, KEPT)),
                "config_invalid",
                "kept"
            );
        }
        assert_eq!(keys.succession(KEPT), None);
        assert!(keys.asked_for(KEPT).is_none());
        assert_eq!(keys.answering(KEPT).public(), said.next);
        let kept = std::fs::read(state.join(SUCCESSION)).expect("kept");
        assert_eq!(answers(&state, KEPT), said.next);
        assert!(!state.join(NEXT).exists() && !state.join(SUCCESSION).exists());
        // Cut off between the two.
        std::fs::write(state.join(SUCCESSION), kept).expect("own file");
        assert_eq!(answers(&state, KEPT), said.next);
        assert!(!state.join(SUCCESSION).exists());
    }

    #[test]
    fn keys_that_do_not_belong_together_are_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        answers(&state, NOW);
        begin_succession(&state, NOW, OVER).expect("begun");
        remove(&state.join(NEXT)).expect("own file");
        for now in [NOW, OVER, KEPT] {
            let refused = HubKeys::open(&state, now).err().expect("refused");
            assert_eq!(refused.code, "config_invalid");
        }
    }
}
