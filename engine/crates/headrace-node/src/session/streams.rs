//! The data connections of a session: dialled, or waited for, and each given to a thread of its own. One that breaks is replaced.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use headrace_core::code::{Code, Failure};
use headrace_core::growth::Growth;
use headrace_core::message::{MAX_JOINS, MAX_STREAMS};
use headrace_io::stream::TlsStream;
use parking_lot::Mutex;

use super::attempt::{Arrival, Role};
use super::connect::{Connected, Joining, PAUSES, join};
use super::context::Context;
use super::counters::{add, read};
use super::link::{Guard, shared_socket};

/// How often it is looked whether the session is over: its end waits for that.
const END_POLL: Duration = Duration::from_millis(10);

/// Why a stream carries nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamOver {
    /// Everything has gone over the streams, or the session is over.
    Done,
    /// Its connection broke, and the session goes on.
    Broken,
}

/// Brings data connections to a session.
pub(super) struct Streams<'a> {
    context: Context<'a>,
    joining: Option<Joining>,
    /// How many are dialled.
    growth: Growth,
    next: AtomicU16,
    /// The streams that there were, by number: how many frames had come when one was over.
    known: Mutex<HashMap<u16, Option<u64>>>,
}

/// What is done with a connection: it is given its number.
type Work<'w> = dyn Fn(u16, TlsStream) -> StreamOver + Sync + 'w;

impl<'a> Streams<'a> {
    pub(super) fn new(context: Context<'a>, connected: &Connected) -> Self {
        let joining = connected.dialled.map(|address| Joining {
            address,
            secret: connected.secret,
            session: connected.session,
        });
        context.shared.counters.streams.store(0, Ordering::Relaxed);
        Self {
            context,
            joining,
            growth: connected.streams.clone(),
            next: AtomicU16::new(0),
            known: Mutex::default(),
        }
    }

    /// Give every connection that comes to `work`, on its own thread, until the session is over.
    pub(super) fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        guard: &'scope Guard,
        work: &'scope Work<'scope>,
    ) -> ScopedJoinHandle<'scope, ()> {
        scope.spawn(move || {
            if let Some(joining) = &self.joining {
                for _ in 0..self.growth.count() {
                    scope.spawn(move || guard.run(|| self.keep(guard, work, joining)));
                }
                self.grow(guard, |_| {
                    scope.spawn(move || guard.run(|| self.keep_another(guard, work, joining)));
                });
                return;
            }
            while !guard.is_over() {
                if let Ok(Arrival::Stream(number, stream)) =
                    self.context.shared.arrivals.1.recv_timeout(END_POLL)
                {
                    if self.count() >= usize::from(MAX_STREAMS) {
                        guard.fail(Failure::new(
                            Code::ProtocolViolation,
                            "the other node opened too many streams",
                        ));
                        return;
                    }
                    if self.begin(number) {
                        scope.spawn(move || self.carry(guard, work, number, stream));
                    }
                }
            }
        })
    }

    /// Open more, one by one, while that makes the session faster.
    fn grow(&self, guard: &Guard, open: impl Fn(u16)) {
        let mut growth = self.growth.clone();
        let counters = &self.context.shared.counters;
        let (begun, before) = (Instant::now(), read(&counters.stream_bytes));
        while let Some(window) = growth.window() {
            if guard.wait(window) {
                return;
            }
            let bytes = read(&counters.stream_bytes).saturating_sub(before);
            let more = growth.look(begun.elapsed(), bytes);
            (0..more).for_each(&open);
            if more > 0 {
                let streams = growth.count();
                tracing::debug!(streams, "more data connections are opened");
            }
        }
    }

    /// As [`Self::keep`], for one that the session can do without.
    fn keep_another(
        &self,
        guard: &Guard,
        work: &Work<'_>,
        joining: &Joining,
    ) -> Result<(), Failure> {
        match self.keep(guard, work, joining) {
            Err(failure) if failure.code == Code::PeerUnreachable => {
                let message = failure.message;
                tracing::info!(message, "a further data connection could not be had");
                Ok(())
            }
            kept => kept,
        }
    }

    /// Dial a connection, and another one whenever it breaks.
    ///
    /// # Errors
    /// [`Code::PeerUnreachable`] when none could be had for as long as a session is sought, or when too many broke; another session may
    /// do better.
    fn keep(&self, guard: &Guard, work: &Work<'_>, joining: &Joining) -> Result<(), Failure> {
        let (mut pause, mut lost) = (PAUSES.0, Instant::now());
        while !guard.is_over() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= MAX_JOINS {
                let message = format!("{MAX_JOINS} data connections of the session broke");
                return Err(Failure::new(Code::PeerUnreachable, message));
            }
            let begun = Instant::now();
            // Nobody waits for one that is dialled when the session is over.
            let permitted = || {
                if guard.is_over() {
                    return Err(Failure::new(Code::PeerUnreachable, "the session is over"));
                }
                self.context.shared.check()
            };
            match join(self.context, joining, number, &permitted) {
                Ok(stream) => {
                    self.begin(number);
                    if self.carry(guard, work, number, stream) == StreamOver::Done {
                        return Ok(());
                    }
                    lost = Instant::now();
                    if begun.elapsed() > PAUSES.1 {
                        pause = PAUSES.0;
                    }
                }
                Err(failure)
                    if failure.code != Code::PeerUnreachable
                        || lost.elapsed() >= self.context.spec.tuning.reconnect =>
                {
                    return Err(failure);
                }
                Err(failure) => tracing::debug!(message = failure.message, "dialling again"),
            }
            guard.wait(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
        Ok(())
    }

    fn carry(&self, guard: &Guard, work: &Work<'_>, number: u16, stream: TlsStream) -> StreamOver {
        let shared = self.context.shared;
        let socket = match shared_socket(&stream) {
            Ok(socket) => socket,
            Err(failure) => {
                guard.fail(failure);
                return StreamOver::Done;
            }
        };
        let streams = &shared.counters.streams;
        guard.watch(Some(number), Arc::clone(&socket));
        let listed = shared.flows.join(number, Arc::clone(&socket));
        // The end that sends tells of a connection: both would count it twice.
        let reported = matches!(self.context.spec.role, Role::Source(_))
            .then(|| self.context.plane.report(&socket, &shared.class()))
            .flatten();
        add(streams, 1);
        let over = work(number, stream);
        drop((listed, reported));
        add(streams, 1_u64.wrapping_neg());
        guard.forget(number);
        self.end(number, 0);
        if over == StreamOver::Broken {
            tracing::info!(number, "a data connection broke and is replaced");
        }
        over
    }

    /// How many there are now.
    fn count(&self) -> usize {
        let known = self.known.lock();
        known.values().filter(|ended| ended.is_none()).count()
    }

    /// Note that a stream begins; `false` when there was one of this number.
    fn begin(&self, number: u16) -> bool {
        let mut known = self.known.lock();
        let is_new = !known.contains_key(&number);
        known.entry(number).or_insert(None);
        is_new
    }

    /// Note how many frames came over a stream that is over, unless that is known.
    pub(super) fn end(&self, number: u16, frames: u64) {
        self.known
            .lock()
            .entry(number)
            .or_insert(None)
            .get_or_insert(frames);
    }

    /// How many frames came over a stream that broke, if it is over here, too. One that never came may not come any more.
    pub(super) fn ended(&self, number: u16) -> Option<u64> {
        *self.known.lock().entry(number).or_insert(Some(0))
    }
}
