//! A session as its destination.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headrace_core::code::{Code, Failure};
use headrace_core::message::Message;
use headrace_core::wire::WireError;
use headrace_io::root::Root;
use parking_lot::Mutex;

use super::attempt::Tuning;
use super::connect::Connected;
use super::context::{Context, Done};
use super::landing::{Answers, Finished, Landing, READERS, ends_attempt, violation};
use super::link::{Control, Guard, StreamInlet, broken, hear, part, shared_socket};
use super::streams::{StreamOver, Streams};

/// Run a session: decide, receive, commit. Once everything is done, `finished` says so, even if the connection breaks before the
/// source has heard of it.
pub(super) fn run(
    context: Context<'_>,
    root: &Arc<Root>,
    connected: Connected,
    finished: &mut Option<Done>,
) -> Result<Done, Failure> {
    let cipher = connected.stream.cipher().to_owned();
    let guard = Arc::new(Guard::default());
    guard.watch(None, shared_socket(&connected.stream)?);
    context.shared.watch(&guard);
    let streams = Streams::new(context, &connected);
    let spec = context.landing_spec(root, context.spec.tuning.unit_bytes, &guard)?;
    let (mut reader, writer) = connected.stream.split().map_err(|error| broken(&error))?;
    let control = Control::new(writer, &guard);
    let answers: Arc<dyn Answers> = Arc::clone(&control) as _;
    let counters = Arc::clone(&context.shared.counters);
    let (buffers, disk) = (
        Arc::clone(&context.plane.buffers),
        context.plane.disk(root)?,
    );
    let landing = Landing::open(spec, answers, counters, buffers, disk)?;
    let end: Mutex<Option<Finished>> = Mutex::default();
    let confirmed = AtomicBool::new(false);
    let work = |number, stream| {
        let mut over = StreamOver::Done;
        guard.run(|| {
            let claim = &context.shared.claim;
            let counters = &context.shared.counters;
            let inlet = StreamInlet::new(stream, &landing, &guard, (counters, claim));
            over = take(inlet, number, &landing, (&control, &guard, &streams))?;
            Ok(())
        });
        over
    };
    let beat = |keep_alive| guard.run(|| control.beat(keep_alive));
    std::thread::scope(|scope| {
        scope.spawn(|| guard.run(|| commit(&landing, &control, &guard, &end)));
        for _ in 0..READERS {
            scope.spawn(|| guard.run(|| landing.read_back(&|| guard.is_over())));
        }
        streams.run(scope, &guard, &work);
        let Tuning {
            keep_alive,
            dead_after,
            ..
        } = context.spec.tuning;
        scope.spawn(move || beat(keep_alive));
        let tick = || context.shared.check().and_then(|()| guard.outcome());
        let listen = || {
            hear(
                &mut reader,
                &guard,
                dead_after,
                &tick,
                &mut |message| match message {
                    Message::EndConfirmed if end.lock().is_some() => {
                        confirmed.store(true, Ordering::Release);
                        guard.finish();
                        Ok(())
                    }
                    message @ Message::EndConfirmed => Err(unexpected(&message)),
                    Message::StreamBroken { stream } => {
                        if let Some(frames) = streams.ended(stream) {
                            return control.send(&Message::StreamEnd { stream, frames });
                        }
                        // Its thread says how much came.
                        guard.hang_up_on(stream);
                        Ok(())
                    }
                    message => landing.handle(message),
                },
            )
        };
        guard.run(listen);
        part(&mut reader, &control, &guard);
        guard.finish();
        guard.hang_up();
    });
    if let Some(end) = end.lock().take() {
        let done = Done {
            totals: end.totals,
            cipher,
            drifted: end.drifted,
            files_list: Some(end.files_list),
            failed_list: Some(end.failed_list),
            sources_deleted: 0,
            sources_kept: Vec::new(),
            trash: end.trash,
        };
        if confirmed.load(Ordering::Acquire) {
            return Ok(done);
        }
        *finished = Some(done);
    } else if let Err(failure) = landing.epoch()
        && !ends_attempt(failure.code)
    {
        // What has arrived counts on resume, if it can be made durable; the source need not hear of it, and a stop is no news.
        tracing::warn!(
            message = failure.message,
            "the last epoch of a session was lost"
        );
    }
    guard.outcome()?;
    Err(Failure::new(
        Code::PeerUnreachable,
        "the source has not confirmed the end",
    ))
}

/// Take what comes over one connection, until everything has come or the connection breaks. Then the source is told how much of it came.
fn take(
    mut inlet: StreamInlet<'_>,
    stream: u16,
    landing: &Landing,
    (control, guard, streams): (&Control, &Guard, &Streams<'_>),
) -> Result<StreamOver, Failure> {
    let tell = |frames| control.send(&Message::StreamAt { stream, frames });
    match inlet.run(&tell) {
        Ok(()) => Ok(StreamOver::Done),
        // When everything is there, the source closes its streams.
        Err(_) if landing.is_settled() => Ok(StreamOver::Done),
        Err(failure) if failure.code == Code::PeerUnreachable && !guard.is_over() => {
            let frames = inlet.abandon();
            streams.end(stream, frames);
            control.send(&Message::StreamEnd { stream, frames })?;
            Ok(StreamOver::Broken)
        }
        Err(failure) => Err(failure),
    }
}

/// Run epochs while they come due, and bring everything to its end.
fn commit(
    landing: &Arc<Landing>,
    control: &Control,
    guard: &Guard,
    end: &Mutex<Option<Finished>>,
) -> Result<(), Failure> {
    while landing.wait_for_epoch(&|| guard.is_over()) {
        landing.check()?;
        landing.epoch()?;
        if landing.is_settled() {
            let finished = landing.finish()?;
            let totals = finished.totals;
            *end.lock() = Some(finished);
            return control.send(&Message::End(totals));
        }
    }
    Ok(())
}

/// What the peer may not do in this place of a session.
fn unexpected(message: &Message) -> Failure {
    violation(&WireError::contradiction(format!(
        "{message:?} is not expected now"
    )))
}
