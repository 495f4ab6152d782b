//! A session as its source.

use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_core::message::{Message, Totals};
use headrace_io::root::Root;
use headrace_io::stream::TlsStream;
use parking_lot::Mutex;

use super::attempt::Tuning;
use super::connect::Connected;
use super::context::{Context, Done};
use super::link::{Control, Guard, StreamOutlet, broken, hear, part, shared_socket};
use super::streams::{StreamOver, Streams};
use super::supply::{Orders, Removed, Supply};

/// Run a session: list, send what is asked for, and hear what became of it.
pub(super) fn run(
    context: Context<'_>,
    root: &Arc<Root>,
    connected: Connected,
) -> Result<Done, Failure> {
    let cipher = connected.stream.cipher().to_owned();
    let guard = Arc::new(Guard::default());
    guard.watch(None, shared_socket(&connected.stream)?);
    context.shared.watch(&guard);
    let streams = Streams::new(context, &connected);
    let spec = context.supply_spec(root, connected.theirs.unit_bytes, connected.theirs.window);
    let (mut reader, writer) = connected.stream.split().map_err(|error| broken(&error))?;
    let control = Control::new(writer, &guard);
    let orders: Arc<dyn Orders> = Arc::clone(&control) as _;
    let counters = Arc::clone(&context.shared.counters);
    let supply = Supply::open(
        spec,
        orders,
        counters,
        Arc::clone(&context.plane.reading),
        (
            Arc::clone(&context.shared.pace),
            Arc::clone(&context.shared.claim),
        ),
    )?;
    let ended: Mutex<Option<Totals>> = Mutex::default();
    let work = |number, stream| {
        let mut over = StreamOver::Done;
        guard.run(|| {
            over = serve(context, &supply, (number, stream), &guard)?;
            if over == StreamOver::Broken {
                // What the other side says of it lets the rest go over another one.
                control.send(&Message::StreamBroken { stream: number })?;
            }
            Ok(())
        });
        over
    };
    let beat = |keep_alive| guard.run(|| control.beat(keep_alive));
    std::thread::scope(|scope| {
        scope.spawn(|| guard.run(|| supply.list()));
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
                    Message::End(totals) => {
                        *ended.lock() = Some(totals);
                        guard.finish();
                        Ok(())
                    }
                    Message::StreamEnd { stream, .. } => {
                        guard.hang_up_on(stream);
                        supply.handle(message)
                    }
                    message => supply.handle(message),
                },
            )
        };
        guard.run(listen);
        supply.stop();
        part(&mut reader, &control, &guard);
        guard.finish();
        if ended.lock().is_none() {
            guard.hang_up();
        }
    });
    guard.outcome()?;
    let totals = ended
        .lock()
        .take()
        .ok_or_else(|| Failure::new(Code::Internal, "a session without an end"))?;
    let removed = if context.shared.current().execution.delete_source {
        supply.remove_sources(&|| context.shared.check())?
    } else {
        Removed::default()
    };
    // The destination waits for this word. Without it the work is done all the same.
    if let Err(failure) = control.send(&Message::EndConfirmed) {
        tracing::info!(message = failure.message, "the end could not be confirmed");
    }
    Ok(Done {
        totals,
        cipher,
        drifted: Vec::new(),
        files_list: None,
        failed_list: None,
        sources_deleted: removed.deleted,
        trash: removed.trash.clone(),
        sources_kept: removed.kept(),
    })
}

/// Send what is asked for over one connection, until the session is over or the connection breaks.
fn serve(
    context: Context<'_>,
    supply: &Supply,
    (number, stream): (u16, TlsStream),
    guard: &Guard,
) -> Result<StreamOver, Failure> {
    let paced = context.shared.pace.join(stream.socket());
    let _paced = paced.map_err(|error| broken(&error))?;
    let mut outlet = StreamOutlet::new(stream, guard, &context.shared.counters);
    let served = supply.serve(&mut outlet, Some(number));
    let is_lost = supply.leave(number);
    if !guard.is_over() && (is_lost || outlet.is_broken()) {
        return Ok(StreamOver::Broken);
    }
    served?;
    drop(outlet.stream.close());
    Ok(StreamOver::Done)
}
