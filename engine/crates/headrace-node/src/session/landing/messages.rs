//! Takes what the source says.

use std::sync::Arc;

use headrace_core::code::Failure;
use headrace_core::message::Message;
use headrace_core::wire::WireError;

use super::shared::Landing;
use super::spec::violation;

impl Landing {
    /// Take what the source says about its entries.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot go on; a message that may not come here is a `protocol_violation`.
    pub fn handle(self: &Arc<Self>, message: Message) -> Result<(), Failure> {
        match message {
            Message::Items { first, items } => self.items(first, &items),
            Message::ItemsEnd { count } => self.items_end(count),
            Message::FileEnd { file, generation } => {
                self.file_end(file, generation);
                Ok(())
            }
            Message::FileChanged {
                file,
                generation,
                entry,
            } => self.file_changed(file, generation, entry),
            Message::FileFailed { file, failure } => self.file_failed(file, &failure),
            Message::Compared { file, hash } => self.compared(file, hash),
            Message::Alive => Ok(()),
            other => Err(violation(&WireError::contradiction(format!(
                "{other:?} is not for a destination"
            )))),
        }
    }

    /// All units that were asked for were read.
    fn file_end(self: &Arc<Self>, id: u64, generation: u16) {
        if let Some(incoming) = self.incoming(id) {
            let mut state = incoming.state.lock();
            if state.generation == generation {
                state.ended = true;
                self.check_whole(&incoming, &mut state);
            }
        }
    }

    /// The source cannot deliver a file.
    fn file_failed(&self, id: u64, failure: &Failure) -> Result<(), Failure> {
        match self.incoming(id) {
            Some(incoming) => self.fail(&incoming, failure),
            None => Ok(()),
        }
    }
}
