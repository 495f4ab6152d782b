//! A copy between two roots of this node: source and destination talk to each other directly.

use std::sync::{Arc, OnceLock, Weak};

use headrace_core::code::{Code, Failure};
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_core::ticket::Execution;
use headrace_io::root::{Dir, Root};
use headrace_io::storage::{Part, Reader};
use parking_lot::Mutex;

use super::context::{Context, Done, POLL};
use super::landing::{
    Accepted, Answers, Content, Finished, Landing, LandingSpec, READERS, UnitSink, WINDOW,
    ends_attempt,
};
use super::link::Guard;
use super::supply::{Orders, Outlet, Piece, Removed, Supply};

/// Threads that read, hash and write.
const WORKERS: usize = 4;

/// Messages to the landing.
struct ToLanding(Arc<Landing>);

impl Orders for ToLanding {
    fn order(&self, message: Message) -> Result<(), Failure> {
        self.0.handle(message)
    }
}

/// Messages to the supply, which is made after the landing.
#[derive(Default)]
struct ToSupply(OnceLock<Weak<Supply>>);

impl Answers for ToSupply {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        match self.0.get().and_then(Weak::upgrade) {
            Some(supply) => supply.handle(message),
            None => Err(Failure::new(
                Code::Internal,
                "an answer before there was a question",
            )),
        }
    }
}

/// Run a local copy.
pub(super) fn run(context: Context<'_>, from: &Arc<Root>, to: &Arc<Root>) -> Result<Done, Failure> {
    check_apart(from, to, &context.shared.current().execution)?;
    let unit_bytes = context.spec.tuning.unit_bytes;
    let counters = &context.shared.counters;
    let guard = Arc::new(Guard::default());
    let to_supply = Arc::new(ToSupply::default());
    let answers: Arc<dyn Answers> = Arc::clone(&to_supply) as _;
    let spec = LandingSpec {
        content: Content::AtHand,
        ..context.landing_spec(to, unit_bytes, &guard)?
    };
    let landing = Landing::open(
        spec,
        answers,
        Arc::clone(counters),
        Arc::clone(&context.plane.buffers),
        context.plane.disk(to)?,
    )?;
    let orders: Arc<dyn Orders> = Arc::new(ToLanding(Arc::clone(&landing)));
    let supply = Supply::open(
        context.supply_spec(from, unit_bytes, WINDOW),
        orders,
        Arc::clone(counters),
        Arc::clone(&context.plane.reading),
        (
            Arc::clone(&context.shared.pace),
            Arc::clone(&context.shared.claim),
        ),
    )?;
    drop(to_supply.0.set(Arc::downgrade(&supply)));
    context.shared.watch(&guard);
    let end: Mutex<Option<Finished>> = Mutex::default();
    std::thread::scope(|scope| {
        scope.spawn(|| guard.run(|| supply.list()));
        for _ in 0..WORKERS {
            scope.spawn(|| {
                guard.run(|| {
                    let mut outlet = LandingOutlet {
                        landing: &landing,
                        guard: &guard,
                        unit: None,
                        dropping: None,
                    };
                    supply.serve(&mut outlet, None)
                });
            });
        }
        scope.spawn(|| guard.run(|| commit(&landing, &guard, &end)));
        for _ in 0..READERS {
            scope.spawn(|| guard.run(|| landing.read_back(&|| guard.is_over())));
        }
        while !guard.is_over() {
            guard.run(|| context.shared.check());
            std::thread::park_timeout(POLL / 10);
        }
        supply.stop();
    });
    let Some(end) = end.lock().take() else {
        if let Err(failure) = landing.epoch()
            && !ends_attempt(failure.code)
        {
            tracing::warn!(
                message = failure.message,
                "the last epoch of a local copy was lost"
            );
        }
        guard.outcome()?;
        return Err(Failure::new(Code::Internal, "a local copy without an end"));
    };
    let removed = if context.shared.current().execution.delete_source {
        supply.remove_sources(&|| context.shared.check())?
    } else {
        Removed::default()
    };
    Ok(Done {
        totals: end.totals,
        cipher: String::new(),
        drifted: end.drifted,
        files_list: Some(end.files_list),
        failed_list: Some(end.failed_list),
        sources_deleted: removed.deleted,
        trash: end.trash.or_else(|| removed.trash.clone()),
        sources_kept: removed.kept(),
    })
}

/// Where something is deleted, neither end may lie in the other: two roots, or one that is mounted twice, may hold the same folder. What they
/// are is asked of the kernel, however they are called. (A trash may be brought back to where it is: no listing shows it.)
fn check_apart(from: &Root, to: &Root, execution: &Execution) -> Result<(), Failure> {
    let Execution {
        source,
        destination,
        ..
    } = execution;
    let deletes = execution.delete_source || execution.delete_extraneous;
    if !deletes || source.path.has_part() {
        return Ok(());
    }
    // A single file is compared where it lands, and whatever can't be looked at fails where it is used.
    let (Ok(ours), Some(theirs)) = (from.dir(&source.path), deepest(to, &destination.path)) else {
        return Ok(());
    };
    let (theirs, is_whole) = theirs;
    let look = |one: &Dir, other: &Dir| {
        one.is_within(other).map_err(|error| {
            Failure::new(
                Code::DestinationFailed,
                format!("comparing both ends: {error}"),
            )
        })
    };
    if look(&theirs, &ours)? || is_whole && look(&ours, &theirs)? {
        let message = format!(
            "`{}` in root `{}` and `{}` in root `{}` are the same folder, or one lies in the other; nothing was done",
            source.path, source.root, destination.path, destination.root
        );
        return Err(Failure::new(Code::SamePlace, message));
    }
    Ok(())
}

/// The folder at `path`, or the deepest above it that there is; and whether it is the one at `path`.
fn deepest(root: &Root, path: &RelPath) -> Option<(Dir, bool)> {
    let mut at = Some(path.clone());
    while let Some(folder) = at {
        if let Ok(dir) = root.dir(&folder) {
            return Some((dir, folder == *path));
        }
        at = folder.parent();
    }
    None
}

fn commit(
    landing: &Arc<Landing>,
    guard: &Guard,
    end: &Mutex<Option<Finished>>,
) -> Result<(), Failure> {
    while landing.wait_for_epoch(&|| guard.is_over()) {
        landing.check()?;
        landing.epoch()?;
        if landing.is_settled() {
            *end.lock() = Some(landing.finish()?);
            guard.finish();
        }
    }
    Ok(())
}

/// Content that goes straight into the landing.
struct LandingOutlet<'l> {
    landing: &'l Arc<Landing>,
    guard: &'l Guard,
    unit: Option<UnitSink>,
    /// File, generation and number of a unit the rest of which is dropped.
    dropping: Option<(u64, u16, u64)>,
}

impl LandingOutlet<'_> {
    fn unit(&mut self, piece: &Piece) -> Result<Option<&mut UnitSink>, Failure> {
        let place = (
            piece.file,
            piece.generation,
            piece.offset / self.landing.geometry().unit_bytes,
        );
        if !self
            .unit
            .as_ref()
            .is_some_and(|unit| unit.expects(piece.file, piece.generation, piece.offset))
        {
            self.unit = None;
            let begins = piece
                .offset
                .is_multiple_of(self.landing.geometry().unit_bytes);
            if begins || self.dropping != Some(place) {
                self.unit = self.landing.open_unit(
                    piece.file,
                    piece.generation,
                    piece.offset,
                    piece.sparse,
                )?;
                self.dropping = if self.unit.is_none() {
                    Some(place)
                } else {
                    None
                };
            }
        }
        Ok(self.unit.as_mut())
    }

    fn after(&mut self, accepted: Accepted, piece: &Piece) {
        if accepted == Accepted::Bad {
            self.dropping = Some((
                piece.file,
                piece.generation,
                piece.offset / self.landing.geometry().unit_bytes,
            ));
        }
        if accepted == Accepted::Bad || self.unit.as_ref().is_some_and(UnitSink::is_full) {
            self.unit = None;
        }
    }
}

impl Outlet for LandingOutlet<'_> {
    fn share(
        &mut self,
        file: u64,
        generation: u16,
        from: &dyn Reader,
    ) -> Result<Option<Arc<dyn Part>>, Failure> {
        self.landing.share(file, generation, from)
    }

    fn block(&mut self, piece: &Piece, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(unit) = self.unit(piece)? {
            let length = bytes.len() as u64;
            let accepted = if unit.is_shared() {
                unit.accept_shared(length, piece.hash)?
            } else {
                unit.room(length)?.copy_from_slice(bytes);
                unit.accept(piece.hash)?
            };
            self.after(accepted, piece);
        }
        Ok(())
    }

    fn hole(&mut self, piece: &Piece, length: u64) -> Result<(), Failure> {
        if let Some(unit) = self.unit(piece)? {
            let accepted = unit.accept_hole(length, piece.hash)?;
            self.after(accepted, piece);
        }
        Ok(())
    }

    fn batch(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let files = self.landing.batch(payload, &|| self.guard.is_over());
        files.map(drop)
    }
}
