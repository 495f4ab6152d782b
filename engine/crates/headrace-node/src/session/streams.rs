//! The data connections of a session: dialled, or waited for, and each given to a thread of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use headrace_core::code::{Code, Failure};
use headrace_core::message::MAX_STREAMS;
use headrace_io::stream::TlsStream;

use super::attempt::Arrival;
use super::link::Guard;
use super::run::{Connected, Context, Joining, join};

/// How often it is looked whether the session is over: its end waits for that.
const END_POLL: Duration = Duration::from_millis(10);

/// Brings data connections to a session.
pub(super) struct Streams<'a> {
    context: Context<'a>,
    joining: Option<Joining>,
    count: AtomicU64,
}

impl<'a> Streams<'a> {
    pub(super) fn new(context: Context<'a>, connected: &Connected) -> Self {
        let joining = connected.dialled.map(|address| Joining {
            address,
            secret: connected.secret,
            session: connected.session,
        });
        // The side that is dialled learns the number from those that come.
        let count = if joining.is_some() {
            u64::from(connected.streams)
        } else {
            0
        };
        context.shared.counters.streams.store(0, Ordering::Relaxed);
        Self {
            context,
            joining,
            count: AtomicU64::new(count),
        }
    }

    /// How many there are, as far as known.
    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Give every connection that comes to `work`, on its own thread, until the session is over.
    pub(super) fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        guard: &'scope Guard,
        work: &'scope (dyn Fn(TlsStream) + Sync),
    ) -> ScopedJoinHandle<'scope, ()> {
        scope.spawn(move || {
            if self.joining.is_some() {
                for index in 0..u16::try_from(self.count()).unwrap_or(MAX_STREAMS) {
                    scope.spawn(move || self.dial(guard, work, index));
                }
                return;
            }
            while !guard.is_over() {
                if let Ok(Arrival::Stream(stream)) =
                    self.context.shared.arrivals.1.recv_timeout(END_POLL)
                {
                    if self.count.fetch_add(1, Ordering::Relaxed) >= u64::from(MAX_STREAMS) {
                        guard.fail(Failure::new(
                            Code::ProtocolViolation,
                            "the other node opened too many streams",
                        ));
                        return;
                    }
                    guard.watch(stream.socket());
                    scope.spawn(move || work(stream));
                }
            }
        })
    }

    fn dial(&self, guard: &Guard, work: &(dyn Fn(TlsStream) + Sync), index: u16) {
        let Some(joining) = &self.joining else { return };
        match join(self.context, joining, index) {
            Ok(stream) => {
                guard.watch(stream.socket());
                work(stream);
            }
            Err(failure) => guard.fail(failure),
        }
    }
}
