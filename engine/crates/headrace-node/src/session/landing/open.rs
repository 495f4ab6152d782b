//! Begins a landing: reads its journal, and takes up what an earlier session left.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use headrace_core::code::Failure;
use headrace_core::journal::Record;
use headrace_io::buffer::BufferPool;
use headrace_io::disk::DiskPool;
use headrace_io::journal::Journal;
use headrace_io::landed::LandedRuns;
use parking_lot::{Condvar, Mutex};

use super::conflict::{FailedCursor, ListCursor};
use super::finish::settled_trash;
use super::folders::Folders;
use super::intake::Intake;
use super::pending::ReadBack;
use super::places::Places;
use super::resume::{ReceivedCount, Resume};
use super::shared::Landing;
use super::spec::{Answers, LandingSpec};
use super::temporaries::temporaries_of;
use crate::session::binding::fenced_off;
use crate::session::counters::{Counters, add};
use crate::session::failures::{asking, state_failed};
use crate::session::ledger::Ledger;

impl Landing {
    /// Read the journal and get ready to take entries.
    ///
    /// # Errors
    /// `state_failed` when journal or scratch folder cannot be used, `attempt_superseded` when the journal knows a later
    /// fencing number; and what ends the session meanwhile, for a journal and a trash may be long.
    pub fn open(
        mut spec: LandingSpec,
        answers: Arc<dyn Answers>,
        counters: Arc<Counters>,
        buffers: Arc<BufferPool>,
        disk: Arc<DiskPool>,
    ) -> Result<Arc<Self>, Failure> {
        let permitted = Arc::clone(&spec.permitted);
        let go_on = asking(&*permitted);
        let mut landed = LandedRuns::new(&spec.scratch, &go_on);
        let (mut journal, mut replay) =
            Journal::open(&*spec.state, b"journal", &mut landed, &go_on).map_err(state_failed)?;
        let resumed = replay.is_of(&spec.transfer, &spec.plan, spec.shard.number);
        if resumed && replay.fence() > spec.shard.fence {
            return Err(fenced_off(&spec.transfer, replay.fence(), spec.shard.fence));
        }
        // Before anything is made durable.
        let settled_trash = settled_trash(&spec)?;
        let same_units = resumed && replay.unit_bytes() == Some(spec.geometry.unit_bytes);
        // Each session begins with it: what it publishes says nothing of what an earlier one was about to name.
        let (transfer, plan) = (spec.transfer.clone(), spec.plan);
        journal.push(&Record::Start {
            transfer,
            plan,
            shard: spec.shard,
            unit_bytes: spec.geometry.unit_bytes,
        });
        spec.first_part = spec.first_part.max(replay.next_part());
        // Temporaries of another plan, or with other units, are of no use any more.
        let stale = if same_units {
            BTreeMap::new()
        } else {
            replay.take_parts()
        };
        // The journal of something else says nothing about this transfer.
        let resume = if resumed {
            Resume::new(replay, landed.sorted().map_err(state_failed)?)
        } else {
            Resume::none()
        };
        let durable = resume.durable_bytes(spec.geometry);
        let (received, lost) = ReceivedCount::open(&spec.scratch, durable).map_err(state_failed)?;
        add(&counters.resent_bytes, lost);
        let this = Arc::new(Self {
            folders: Folders::new(
                Arc::clone(&spec.target),
                &temporaries_of(&spec.transfer, spec.shard.number),
                Arc::clone(&spec.share),
            ),
            places: Places::default(),
            used: Mutex::default(),
            ledger: Mutex::new(Ledger::create(&spec.scratch, "source").map_err(state_failed)?),
            intake: Mutex::new(Intake::new(
                ListCursor::open(spec.overwrites.as_deref(), spec.execution.overwrites)?,
                spec.only_failed
                    .as_deref()
                    .map(FailedCursor::open)
                    .transpose()?,
            )),
            top: OnceLock::new(),
            journal: Mutex::new(journal),
            resume: Mutex::new(resume),
            received,
            totals: Mutex::default(),
            drifted: Mutex::default(),
            active: Mutex::default(),
            pending: Mutex::default(),
            pending_changed: Condvar::new(),
            read_back: ReadBack::default(),
            next_part: AtomicU64::new(spec.first_part),
            may_share: AtomicBool::new(true),
            telling: AtomicU64::new(0),
            failure: Mutex::default(),
            settled_trash,
            trash: OnceLock::new(),
            answers,
            counters,
            buffers,
            disk,
            spec,
        });
        // Before the journal forgets them, and durable before: whoever ends this on the way, also the power, leaves the others to the next
        // session, or to who removes what is left.
        if !stale.is_empty() {
            this.remove_temporaries(stale)?;
            this.sync_touched(1)?;
        }
        this.journal.lock().commit().map_err(state_failed)?;
        Ok(this)
    }
}
