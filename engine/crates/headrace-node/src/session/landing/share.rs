//! Files inside one file system that keeps the content of both only once, until either is changed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use headrace_core::code::Failure;
use headrace_core::integrity::PieceHash;
use headrace_core::wire::WireError;
use headrace_io::storage::{Part, Reader, Writing};

use super::incoming::Phase;
use super::shared::Landing;
use super::spec::{Content, violation};
use super::unit::{Accepted, UnitSink};

impl Landing {
    /// Have all content of a file at once, where the storage can; what is hashed is then read from what this gives, which nobody else can
    /// change. `None` when content has to be copied.
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn share(
        &self,
        id: u64,
        generation: u16,
        from: &dyn Reader,
    ) -> Result<Option<Arc<dyn Part>>, Failure> {
        let Some(incoming) = self.incoming(id) else {
            return Ok(None);
        };
        let mut state = incoming.state.lock();
        let is_wanted = state.generation == generation && state.phase == Phase::Arriving;
        if !is_wanted || self.spec.content != Content::AtHand {
            return Ok(None);
        }
        if let Some(open) = &state.part {
            return Ok(state.is_shared.then(|| Arc::clone(&open.part)));
        }
        if !self.may_share.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let made = self.new_part(&state.entry, Writing::Buffered);
        let shared = made.and_then(|(part, number)| {
            let (entry, size) = (&state.entry, state.entry.size);
            // A source that has another size by now is found out when it has been read.
            let shared = match part.share(from) {
                Ok(true) => part.set_size(size).map(|()| true),
                answer => answer,
            };
            let shared = shared.map_err(|error| self.failed(&error, entry, "sharing content with"));
            if shared != Ok(true) {
                drop(part.discard());
            }
            Ok(shared?.then_some((part, number)))
        });
        match shared {
            Ok(Some((part, number))) => {
                self.begin_part(&mut state, &part, number)?;
                state.is_shared = true;
                Ok(Some(part))
            }
            // It will not be otherwise with the next file.
            Ok(None) => {
                self.may_share.store(false, Ordering::Relaxed);
                Ok(None)
            }
            Err(failure) => {
                drop(state);
                self.fail(&incoming, &failure)?;
                Ok(None)
            }
        }
    }
}

impl UnitSink {
    /// Take a block of a file that shares its content: nothing is written.
    ///
    /// # Errors
    /// A violation when the block has another length.
    pub fn accept_shared(&mut self, length: u64, hash: PieceHash) -> Result<Accepted, Failure> {
        if length != self.next_length() || length == 0 || !self.is_shared {
            return Err(violation(&WireError::contradiction(
                "a block of the wrong length",
            )));
        }
        self.advance(hash, length);
        self.finish_when_full();
        Ok(Accepted::Good)
    }

    /// Whether the content of its file is there already.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }
}
